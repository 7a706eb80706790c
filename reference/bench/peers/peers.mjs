// SPDX-License-Identifier: Apache-2.0
// `node peers.mjs FOLDER KIND ROUNDS`: milliseconds of each call, as JSON. FOLDER has the packages.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

const [folder, kind, rounds] = process.argv.slice(2);
const load = async (name) => {
  const path = createRequire(pathToFileURL(folder + "/")).resolve(name);
  const found = await import(pathToFileURL(path));
  return found.default && !found.createRunner && !found.CodeModeUtcpClient ? found.default : found;
};

const KINDS = {
  // A thread for each call, from its start to its end.
  thread: async () => () =>
    new Promise((resolve, reject) => {
      const thread = new Worker("require('node:worker_threads').parentPort.postMessage(1)", { eval: true });
      let value;
      thread.on("message", (message) => (value = message));
      thread.on("error", reject);
      thread.on("exit", () => resolve(value));
    }),
  run: async () => {
    const { createRunner } = await load("run");
    const runner = createRunner({});
    return async () => (await runner.run({ source: "return 1" })).value;
  },
  "utcp-code-mode": async () => {
    const { CodeModeUtcpClient } = await load("@utcp/code-mode");
    const client = await CodeModeUtcpClient.create();
    return async () => (await client.callToolChain("return 1")).result;
  },
};

const call = await KINDS[kind]();
const times = [];
for (let round = 0; round < Number(rounds) + 3; round++) {
  const begin = performance.now();
  const value = await call();
  if (value !== 1) throw new Error(`${kind} gave ${value}`);
  times.push(performance.now() - begin);
}
// The first ones compile what the others use.
process.stdout.write(JSON.stringify(times.slice(3)) + "\n", () => process.exit(0));
