// SPDX-License-Identifier: Apache-2.0
// Drives `DynamicWorkerExecutor` of the npm package @cloudflare/codemode in workerd, through miniflare. The executor wants
// to run in a Worker: that is worker.mjs beside this file. README.md says what is claimed, and why.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, failed, hostValues, mark, serve } from "../../kits/cmconf_kit.mjs";

const require = createRequire(join(process.argv[2], "package.json"));
const home = join(process.argv[2], "node_modules", "@cloudflare", "codemode");
const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const { Miniflare, Log, LogLevel } = require("miniflare");

const SILENT = ["source_bytes", "memory_bytes", "host_calls", "concurrent_host_calls", "host_result_bytes",
  "final_result_bytes"]; // no word on them in the documentation of the executor
const PRELUDE = "const host = { call: (name, args) => codemode[name](args), " +
  "all: (list) => Promise.all(list.map(([name, args]) => codemode[name](args))) };";
const CATEGORIES = [ // of the text of the failure, first match
  [/^Execution timed out$/, "time"], [/^Maximum call stack size exceeded$/, "stack"],
  [/could not be cloned|DataCloneError|cannot be serialized|does not support serialization/i, "result"],
  [/memory limit|out of memory/i, "memory"],
];

const { outputFiles } = await require("esbuild").build({
  entryPoints: [fileURLToPath(new URL("worker.mjs", import.meta.url))], bundle: true, write: false, format: "esm",
  nodePaths: [join(process.argv[2], "node_modules")], external: ["node:*", "cloudflare:*"], logLevel: "error",
});
const calls = new Map(); // of a run: how it forwards calls
const wire = (value) => {
  const [shown, odd] = mark(value);
  return value === undefined ? { present: false } : { present: true, value: shown, ...(odd.length && { odd }) };
};
async function harness(request) {
  const { r, name, args } = await request.json();
  try {
    const known = (args.odd ?? []).filter(([, kind]) => hostValues.includes(kind));
    const value = await calls.get(r)(name, args.present ? build(args.value, known) : undefined);
    return Response.json({ ok: true, ...wire(value) });
  } catch (error) {
    return Response.json({ ok: false, message: error.message });
  }
}
const workerd = new Miniflare({
  modules: true, script: outputFiles[0].text, compatibilityDate: "2026-04-01", compatibilityFlags: ["nodejs_compat"],
  workerLoaders: { LOADER: {} }, serviceBindings: { HARNESS: harness }, log: new Log(LogLevel.ERROR),
});
await workerd.ready;

async function dispatch(body) {
  try {
    return await (await workerd.dispatchFetch("http://worker/", { method: "POST", body })).json();
  } catch (error) { // the runtime is gone, and this process stands for it
    console.error(`workerd is gone: ${error.message}`);
    process.exit(70);
  }
}

function open(policy, ops) {
  const fields = Object.keys(policy).filter((row) => policy[row] === null);
  if (fields.length) return { unsupported: fields };
  const effective = Object.fromEntries(SILENT.map((row) => [row, { value: "unknown", from: "documented" }]));
  effective.wall_time_ms = { value: policy.wall_time_ms ?? 60000, from: "wall_time_ms" in policy ? "set" : "documented" };
  return {
    effective, unknown: Object.keys(policy).filter((row) => row !== "wall_time_ms"), prelude: PRELUDE,
    wrap: ["async () => {", "\n}"],
    async run(source, _, call, { r }) {
      calls.set(r, call);
      const body = JSON.stringify({ r, source, timeout: policy.wall_time_ms, ops: ops.map(({ name }) => name) });
      const { result, error, logs } = await dispatch(body);
      calls.delete(r);
      if (error === undefined) return { ok: true, ...result, logs }; // marked in the Worker already
      return failed(CATEGORIES.find(([pattern]) => pattern.test(error.message))?.[1] ?? "script", error, { logs });
    },
  };
}

serve({
  target: "cloudflare", version, language: ["javascript"], mapping: "text", sessions: 1, runs_per_session: 4,
  settable: ["wall_time_ms"], host_values: hostValues,
  capabilities: ["policy.wall_time_ms", "op.value", "op.fail", "op.delay", "op.never", "op.native", "op.ledger", "op.many",
    "parallel.4", "odd", "raw", "logs"],
  alternatives: {
    script_style: "async", source_form: "async_arrow", isolation: "isolate", operation_failure: "throw",
    late_calls: "run", console: "present",
  },
}, open);
