// SPDX-License-Identifier: Apache-2.0
// Drives `makeQuickJsExecutor` of the npm package @executor-js/runtime-quickjs. README.md says what is claimed, and why.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { failed, hostValues, ok, serve } from "../../kits/cmconf_kit.mjs";

const modules = join(process.argv[2], "node_modules");
const home = join(modules, "@executor-js", "runtime-quickjs");
const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const { makeQuickJsExecutor } = await import(pathToFileURL(join(home, "dist", "index.js")));
const { Effect } = await import(pathToFileURL(join(modules, "effect", "dist", "index.js")));

const LIMITS = { // row: its name for the same unit, and the documented default
  wall_time_ms: ["timeoutMs", 300000], memory_bytes: ["memoryLimitBytes", 2 ** 26],
  stack_bytes: ["maxStackSizeBytes", 2 ** 20],
};
const SILENT = ["source_bytes", "host_calls", "concurrent_host_calls", "host_result_bytes", "final_result_bytes"];
const PRELUDE = "const host = { call: (name, args) => tools[name](args), " +
  "all: (list) => Promise.all(list.map(([name, args]) => tools[name](args))) };";
const CATEGORIES = [ // of the text of the failure, first match
  [/^QuickJS execution timed out after \d+ms$/, "time"], [/^out of memory\b/, "memory"],
  [/^(Maximum call stack size exceeded|stack overflow)\b/, "stack"],
];

class ExecutionToolError extends Error { // what a caller's failed tool is: its message reaches the program
  _tag = "ExecutionToolError";
}

function open(policy, ops) {
  const fields = Object.keys(policy).filter((row) => policy[row] === null);
  if (fields.length) return { unsupported: fields };
  const options = {}, effective = Object.fromEntries(SILENT.map((row) => [row, { value: "unknown", from: "documented" }]));
  for (const [row, [name, value]] of Object.entries(LIMITS)) {
    if (row in policy) options[name] = policy[row];
    effective[row] = row in policy ? { value: policy[row], from: "set" } : { value, from: "documented" };
  }
  const names = new Set(ops.map(({ name }) => name)), executor = makeQuickJsExecutor(options);
  return {
    effective, unknown: Object.keys(policy).filter((row) => !LIMITS[row]), prelude: PRELUDE,
    async run(source, _, call) {
      const attempt = async (path, args) => {
        if (!names.has(path)) throw new Error("unknown tool");
        return call(path, args);
      };
      const invoke = ({ path, args }) => Effect.tryPromise({
        try: () => attempt(path, args), catch: (error) => new ExecutionToolError(error.message),
      });
      // Its error channel tells that the sandbox itself failed.
      const told = executor.execute(source, { invoke }).pipe(
        Effect.catchTag("QuickJsExecutionError", (fault) => Effect.succeed({ fault })));
      const { result, error, logs, fault } = await Effect.runPromise(told);
      if (fault !== undefined) return failed("protocol", fault);
      if (error === undefined) return ok(result, logs);
      return failed(CATEGORIES.find(([pattern]) => pattern.test(error))?.[1] ?? "script", { message: error }, { logs });
    },
  };
}

serve({
  target: "executor", version, language: ["javascript"], mapping: "text", sessions: 1, runs_per_session: 1,
  settable: Object.keys(LIMITS), host_values: hostValues,
  capabilities: [...Object.keys(LIMITS).map((row) => `policy.${row}`), "op.value", "op.fail", "op.delay", "op.never",
    "op.native", "op.ledger", "op.many", "odd", "raw", "logs"],
  alternatives: { script_style: "async", host_wait: "counted", isolation: "interpreter", annotations: "strip" },
}, open);
