// Drives the implementation in sandbox.mjs for the conformance suite. The kit beside it speaks the protocol.
import { failed, hostValues, ok, serve } from "./cmconf_kit.mjs";
import { run, TimeoutError } from "./sandbox.mjs";

// The suite's programs call host operations by `host.call` and `host.all`: this says how in your API.
const PRELUDE = "const host = { call: (name, args) => tools.call(name, args), " +
  "all: (list) => Promise.all(list.map(([name, args]) => tools.call(name, args))) };";

function open(policy, ops) {
  const foreign = Object.keys(policy).filter((row) => row !== "wall_time_ms");
  if (foreign.length) return { unsupported: foreign };
  const timeoutMs = policy.wall_time_ms ?? 5000;
  return {
    effective: { wall_time_ms: { value: timeoutMs, from: "wall_time_ms" in policy ? "set" : "documented" } },
    prelude: PRELUDE,
    async run(source, options, call) { // `call` is answered by the suite, which keeps the ledger
      const tools = Object.fromEntries(ops.map(({ name }) => [name, (args) => call(name, args)]));
      try { return ok(await run(source, { timeoutMs, tools })); }
      // By a class of yours, never by a text that a program could throw.
      catch (error) { return failed(error instanceof TimeoutError ? "time" : "script", error); }
    },
  };
}

serve({
  target: "@NAME@", version: "0.1", language: ["javascript"],
  mapping: "text", typed: ["time"], // categories that no program can choose
  sessions: 1, runs_per_session: 1, settable: ["wall_time_ms"], host_values: hostValues,
  capabilities: ["op.value", "op.fail", "op.delay", "op.never", "op.ledger", "op.many"],
  alternatives: { // what your documentation says; `cmconf spec export` has them all
    script_style: "async", source_form: "function_body", undefined_result: "absent",
    operation_failure: "throw", host_wait: "counted", values: "structured",
  },
}, open);
