// SPDX-License-Identifier: Apache-2.0
// Drives the npm package `run` through createRunner. README.md says what is claimed, and why.
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { failed, hostValues, ok, serve } from "../../kits/cmconf_kit.mjs";

const home = join(process.argv[2], "node_modules", "run");
const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const run = await import(pathToFileURL(join(home, "dist", "index.js")));

const LIMITS = { // row: its name for the same unit, and the documented default
  source_bytes: ["maxSourceBytes", 262144],
  wall_time_ms: ["timeoutMs", 30000],
  memory_bytes: ["memoryLimitBytes", 67108864],
  stack_bytes: ["maxStackSizeBytes", 2097152],
  host_calls: ["maxBridgeRequests", 256],
  concurrent_host_calls: ["maxInFlightBridgeRequests", 32],
  log_bytes: ["maxConsoleOutputBytes", 65536],
  server_workers: ["setMaxWorkers", "unknown"],
};
const UNKNOWN = ["host_result_bytes", "final_result_bytes"]; // bounded, but in bytes of its own value format
const PRELUDE = "const host = { call: (name, args) => tools[name](args), " +
  "all: (list) => Promise.all(list.map(([name, args]) => tools[name](args))) };";
const CATEGORIES = [ // of "code name: message", first match; beyond the code only where it covers several causes
  [/^RUN_TIMEOUT /, "time"], [/^RUN_ABORTED /, "cancelled"], [/^RUN_CONCURRENCY_LIMIT /, "capacity"],
  [/^RUN_SOURCE_TOO_LARGE /, "source"], [/^RUN_BRIDGE_LIMIT /, "calls"], [/^RUN_PROTOCOL_ERROR /, "protocol"],
  [/^RUN_DETACHED_BRIDGE_REQUEST /, "script"],
  [/^RUN_SERIALIZATION_ERROR \w+: JavaScript runtime result /, "result"],
  [/^RUN_(SERIALIZATION|HOST_FUNCTION)_ERROR .* exceeds the \d+ byte size limit/, "data"],
  [/^RUN_SERIALIZATION_ERROR /, "host"],
  [/^RUN_HOST_FUNCTION_ERROR \w+: Unknown host function: /, "script"],
  [/^RUN_HOST_FUNCTION_ERROR /, "host"],
  [/^RUN_(USER_SOURCE_)?ERROR InternalError: out of memory$/, "memory"],
  [/^RUN_(USER_SOURCE_)?ERROR RangeError: Maximum call stack size exceeded$/, "stack"],
  [/^RUN_USER_SOURCE_ERROR (Type)?Error: Host function arguments (exceed|are not serializable)/, "data"],
  [/^RUN_USER_SOURCE_ERROR /, "script"],
];
const failure = (e) => {
  const text = run.RunError.isInstance(e) ? `${e.code} ${e.name}: ${e.message}` : "";
  const found = CATEGORIES.find(([pattern]) => pattern.test(text))?.[1];
  return failed(found ?? (!text && e instanceof TypeError ? "policy" : "other"), e); // it refuses a limit by TypeError
};

function open(policy, ops) {
  // A missing limit is its default, never an error; some names it refuses for host functions.
  const fields = Object.keys(policy).filter((row) => policy[row] === null || UNKNOWN.includes(row));
  if (ops.some(({ name }) => !/^(?!(?:then|constructor|prototype)$|__)[a-z_$][\w$]*$/i.test(name))) fields.push("ops");
  if (fields.length) return { unsupported: fields };
  const { server_workers, ...rows } = policy;
  try { run.setMaxWorkers(server_workers); } catch (e) { return failure(e); }
  const limits = Object.fromEntries(Object.entries(rows).map(([row, value]) => [LIMITS[row]?.[0] ?? row, value]));
  const runner = run.createRunner({ limits });
  const effective = Object.fromEntries(UNKNOWN.map((row) => [row, { value: "unknown", from: "documented" }]));
  for (const [row, [, value]] of Object.entries(LIMITS)) effective[row] = { value, from: "documented" };
  for (const [row, value] of Object.entries(policy).filter(([name]) => LIMITS[name])) {
    effective[row] = { value: Number.isInteger(value) && value > 0 ? value : "unknown", from: "set" }; // run refuses others
  }
  return {
    effective, unknown: Object.keys(policy).filter((row) => !LIMITS[row]), prelude: PRELUDE,
    async run(source, _, call, state) {
      state.controller = new AbortController();
      const forward = (name) => (...args) =>
        call(name, args.length > 1 ? args : args[0], run.getHostFunctionContext().abortSignal);
      const tools = Object.fromEntries(ops.map(({ name }) => [name, forward(name)]));
      let result;
      try { result = await runner.run({ source, hostFunctions: { tools }, abortSignal: state.controller.signal }); }
      catch (e) { return failure(e); }
      return ok(result.value);
    },
    cancel: (state) => state.controller.abort(),
    close: () => run.setMaxWorkers(),
  };
}

serve({
  target: "run", version, language: ["javascript"], mapping: "text", sessions: 1, runs_per_session: 4,
  typed: ["time", "cancelled", "capacity", "source", "calls", "protocol"], // one code each; the others share codes
  settable: Object.keys(LIMITS), host_values: hostValues,
  capabilities: [...Object.keys(LIMITS).map((row) => `policy.${row}`), "op.value", "op.fail", "op.delay", "op.never",
    "op.native", "op.ledger", "op.many", "cancel.native", "call_cancelled", "parallel.4", "odd", "raw"],
  alternatives: {
    script_style: "async", source_form: "function_body", undefined_result: "absent", exhaustion: "terminal",
    concurrency_excess: "reject", operation_failure: "throw", host_wait: "counted", isolation: "thread", options: [],
    late_calls: "reject", annotations: nodeModule.stripTypeScriptTypes ? "strip" : "reject", prototypes: "frozen",
    timers: "none", console: "present", values: "structured",
  },
}, open);
