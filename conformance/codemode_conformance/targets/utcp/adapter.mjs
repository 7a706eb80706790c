// SPDX-License-Identifier: Apache-2.0
// Drives `CodeModeUtcpClient` of the npm package @utcp/code-mode, with a communication protocol of its own for the
// operations. README.md says what is claimed, and why.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { failed, hostValues, ok, serve } from "../../kits/cmconf_kit.mjs";

const home = join(process.argv[2], "node_modules", "@utcp", "code-mode");
const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
createRequire(join(home, "package.json")).resolve("isolated-vm"); // says at once if it was not installed
const at = (name) => import(pathToFileURL(join(process.argv[2], "node_modules", "@utcp", name, "dist", "index.js")));
const { CommunicationProtocol, CallTemplateSerializer, Serializer } = await at("sdk");
const { CodeModeUtcpClient } = await at("code-mode");

const MIB = 2 ** 20, TYPE = "cmconf", MARK = "[ERROR] Code execution failed: ";
const PRELUDE = "const host = { call: (name, args) => tools[name](args), " +
  "all: (list) => list.map(([name, args]) => tools[name](args)) };";
const CATEGORIES = [ // of the text after MARK, first match
  [/^Script execution (timeout after|timed out)/, "time"],
  [/^Isolate (was disposed|is disposed).*memory limit|^Array buffer allocation failed/, "memory"],
  [/^RangeError: Maximum call stack size exceeded/, "stack"],
  [/^TypeError: (Converting circular structure to JSON|Do not know how to serialize a BigInt)/, "result"],
];

const THROWN = [[/^Isolate is already disposed$/, "memory"], [/^`memoryLimit` must be/, "policy"]];

class Plain extends Serializer {
  toDict(template) { return { ...template }; }
  validateDict(template) { return template; }
}
class Harness extends CommunicationProtocol { // one call of a tool is one call of the suite
  running = new Map(); // of a manual: how its run forwards calls
  async registerManual(_, template) {
    const tools = template.ops.map(({ name }) => ({ name, description: name, tags: [],
      inputs: { type: "object" }, outputs: {}, tool_call_template: { call_template_type: TYPE } }));
    return { manualCallTemplate: template, success: true, errors: [],
      manual: { utcp_version: "1.0.1", manual_version: "1.0.0", tools } };
  }
  async deregisterManual() { /* nothing is held */ }
  callTool(client, name, args) { return this.running.get(client)(name.slice(name.indexOf(".") + 1), args); }
  async *callToolStreaming(...given) { yield await this.callTool(...given); }
}
const harness = new Harness();
CallTemplateSerializer.registerCallTemplate(TYPE, new Plain(), true);
CommunicationProtocol.communicationProtocols[TYPE] = harness;
console.log = console.error; // the library reports each call there

const isWhole = (value) => Number.isInteger(value) && value > 0 && value % MIB === 0;

async function open(policy, ops) {
  const fields = Object.keys(policy).filter((row) => policy[row] === null);
  if ("memory_bytes" in policy && !isWhole(policy.memory_bytes)) fields.push("memory_bytes"); // it counts in MiB
  if (fields.length) return { unsupported: fields };
  const effective = {
    wall_time_ms: { value: policy.wall_time_ms ?? 30000, from: "wall_time_ms" in policy ? "set" : "documented" },
    memory_bytes: { value: policy.memory_bytes ?? 128 * MIB, from: "memory_bytes" in policy ? "set" : "documented" },
  };
  for (const row of ["source_bytes", "host_calls", "concurrent_host_calls", "host_result_bytes", "final_result_bytes"]) {
    effective[row] = { value: "unknown", from: "documented" };
  }
  const client = await CodeModeUtcpClient.create();
  await client.registerManual({ name: "tools", call_template_type: TYPE, ops });
  return {
    effective, unknown: Object.keys(policy).filter((row) => !effective[row]), prelude: PRELUDE,
    async run(source, _, call) {
      harness.running.set(client, call);
      let told;
      try {
        told = await client.callToolChain(source, policy.wall_time_ms, policy.memory_bytes && policy.memory_bytes / MIB);
      } catch (error) { // it gives failures as text; what it throws came out of isolated-vm
        return failed(THROWN.find(([pattern]) => pattern.test(error.message))?.[1] ?? "other", error);
      }
      const { result, logs } = told;
      const last = logs.at(-1) ?? "";
      if (result !== null || !last.startsWith(MARK)) return ok(result, logs);
      const text = last.slice(MARK.length);
      return failed(CATEGORIES.find(([pattern]) => pattern.test(text))?.[1] ?? "script", { message: text },
        { logs: logs.slice(0, -1) });
    },
    close: () => client.close?.(),
  };
}

serve({
  target: "utcp", version, language: ["javascript"], mapping: "text", sessions: 1, runs_per_session: 1,
  settable: ["wall_time_ms", "memory_bytes"], host_values: hostValues,
  capabilities: ["policy.wall_time_ms", "policy.memory_bytes", "op.value", "op.fail", "op.delay", "op.never", "op.native",
    "op.ledger", "op.many", "odd", "raw", "logs"],
  alternatives: {
    script_style: "sync", source_form: "function_body", operation_failure: "throw", isolation: "isolate",
    annotations: "strip", console: "present",
  },
}, open);
