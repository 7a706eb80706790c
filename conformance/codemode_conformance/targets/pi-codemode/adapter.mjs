// SPDX-License-Identifier: Apache-2.0
// Drives `CodemodeSandbox` of the npm package @earendil-works/pi-codemode. README.md says what is claimed, and why.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { failed, hostValues, ok, serve } from "../../kits/cmconf_kit.mjs";

const home = join(process.argv[2], "node_modules", "@earendil-works", "pi-codemode");
const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const { CodemodeSandbox } = await import(pathToFileURL(join(home, "dist", "index.js")));

const LIMITS = { wall_time_ms: ["timeoutMs", 300000], memory_bytes: ["memoryLimitBytes", 2 ** 32] };
const SILENT = ["source_bytes", "stack_bytes", "host_calls", "concurrent_host_calls", "host_result_bytes",
  "cumulative_host_result_bytes", "final_result_bytes"]; // no word on them in the documentation
const PRELUDE = "const host = { call: (name, args) => tools[name](args), " +
  "all: (list) => Promise.all(list.map(([name, args]) => tools[name](args))) };";
const KINDS = { timeout: "time", aborted: "cancelled", sandbox: "protocol" };
const SCRIPT = [[/^InternalError: out of memory$/, "memory"], [/^RangeError: Maximum call stack size exceeded$/, "stack"]];

function failure({ kind, name, message, stack }, logs) {
  const text = `${name}: ${message}`;
  const category = KINDS[kind] ?? SCRIPT.find(([pattern]) => pattern.test(text))?.[1] ?? "script";
  return failed(category, { name, message, stack, code: kind }, { logs });
}

function open(policy, ops) {
  const fields = Object.keys(policy).filter((row) => policy[row] === null);
  if (fields.length) return { unsupported: fields };
  const effective = Object.fromEntries(SILENT.map((row) => [row, { value: "unknown", from: "documented" }]));
  const options = {};
  for (const [row, [name, value]] of Object.entries(LIMITS)) {
    if (row in policy) options[name] = policy[row];
    effective[row] = row in policy ? { value: policy[row], from: "set" } : { value, from: "documented" };
  }
  return {
    effective, unknown: Object.keys(policy).filter((row) => !LIMITS[row]), prelude: PRELUDE,
    async run(source, _, call, state) {
      state.controller = new AbortController();
      const tools = ops.map(({ name }) => ({ name, execute: (args, { signal }) => call(name, args, signal) }));
      const sandbox = new CodemodeSandbox({ ...options, tools });
      const result = await sandbox.execute(source, { signal: state.controller.signal });
      await sandbox.close();
      const logs = result.output.filter((item) => item.console).map((item) => item.text);
      return result.ok ? ok(result.value, logs) : failure(result.error, logs);
    },
    cancel: (state) => state.controller.abort(),
  };
}

serve({
  target: "pi-codemode", version, language: ["javascript"], mapping: "text", sessions: 1, runs_per_session: 4,
  typed: ["time", "cancelled"], settable: Object.keys(LIMITS), host_values: hostValues,
  capabilities: [...Object.keys(LIMITS).map((row) => `policy.${row}`), "op.value", "op.fail", "op.delay", "op.never",
    "op.native", "op.ledger", "op.many", "cancel.native", "call_cancelled", "parallel.4", "odd", "raw", "logs"],
  alternatives: {
    script_style: "async", source_form: "function_body", undefined_result: "absent", nested_undefined: "omit",
    operation_failure: "throw", host_wait: "counted", isolation: "thread", options: [], late_calls: "cancel",
    stall: "at_once", memory_error: "catchable", timers: "none", console: "present", values: "round_trip",
  },
}, open);
