// One trace: both ends of a channel, step by step.

import { rulesOf } from "./checks.mjs";
import { Parent } from "./parent.mjs";
import { Worker } from "./worker.mjs";

/** The actions and the state after every step of a trace. */
export function replay(tables, operations, trace) {
  const rules = rulesOf(tables, operations, trace);
  const end = trace.end === "parent" ? new Parent(rules) : new Worker(rules);
  return trace.steps.map(({ event, given }) => ({ actions: end.on(event, given), state: end.state }));
}
