// A stand-in, so that the adapter works from the start. It is no sandbox: put your implementation here.
import { Worker } from "node:worker_threads";

const WORKER = `
const { parentPort, workerData } = require("node:worker_threads");
const vm = require("node:vm");
const waiting = new Map();
let last = 0;
const call = (name, args) => new Promise((resolve, reject) => {
  waiting.set(++last, { resolve, reject });
  parentPort.postMessage({ call: last, name, args });
});
const told = (error) => ({ name: String(error?.name ?? ""), message: String(error?.message ?? error) });
parentPort.on("message", ({ id, value, error }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (error) reject(new Error(error.message)); else resolve(value);
});
(async () => {
  try {
    const program = vm.runInContext("(async (tools) => {" + workerData + "\\n})", vm.createContext({}));
    parentPort.postMessage({ value: await program({ call }) });
  } catch (error) { parentPort.postMessage({ error: told(error) }); }
  parentPort.close();
})();
`;

export class TimeoutError extends Error {}

/** The value of a program, the body of an async function, which calls `tools.call(name, args)`. */
export function run(source, { timeoutMs, tools }) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER, { eval: true, env: {}, workerData: source });
    const end = (settle, outcome) => { clearTimeout(timer); worker.terminate(); settle(outcome); };
    const timer = setTimeout(() => end(reject, new TimeoutError(`stopped after ${timeoutMs} ms`)), timeoutMs);
    worker.on("error", (error) => end(reject, error));
    worker.on("exit", () => end(reject, new Error("the worker ended without an outcome")));
    worker.on("message", async (message) => {
      if (message.error) return end(reject, Object.assign(new Error(message.error.message), message.error));
      if (!message.call) return end(resolve, message.value);
      const { call: id, name, args } = message;
      try { worker.postMessage({ id, value: await tools[name](args) }); }
      catch (error) { worker.postMessage({ id, error: { message: error.message } }); }
    });
  });
}
