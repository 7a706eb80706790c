// SPDX-License-Identifier: Apache-2.0
// The control: runs each program in its own process, with all that the process can do. It must fail containment.
import { failed, hostValues, ok, serve } from "../../kits/cmconf_kit.mjs";

const PRELUDE = "const host = { call: (name, args) => tools[name](args), " +
  "all: (list) => Promise.all(list.map(([name, args]) => tools[name](args))) };";

function open(policy, ops) {
  const fields = Object.keys(policy).filter((row) => policy[row] === null);
  if (fields.length) return { unsupported: fields };
  const effective = Object.fromEntries(["wall_time_ms", "memory_bytes", "final_result_bytes", "host_calls",
    "concurrent_host_calls"].map((row) => [row, { value: "none", from: "documented" }]));
  return {
    effective, unknown: Object.keys(policy), prelude: PRELUDE,
    async run(source, _, call) {
      globalThis.tools = Object.fromEntries(ops.map(({ name }) => [name, (args) => call(name, args)]));
      try { return ok(await (0, eval)(`(async () => {${source}\n})()`)); } catch (error) { return failed("script", error); }
    },
  };
}

serve({
  target: "unsafe-eval", version: "1", language: ["javascript"], mapping: "text", sessions: 1, runs_per_session: 1,
  settable: [], host_values: hostValues,
  capabilities: ["op.value", "op.fail", "op.delay", "op.never", "op.native", "op.ledger", "op.many", "odd", "raw"],
  alternatives: {
    script_style: "async", source_form: "function_body", undefined_result: "absent", operation_failure: "throw",
    timers: "present", console: "present", values: "structured",
  },
}, open);
