// A tiny target on the JavaScript kit. A program is JSON: its `do` says what it does.
import { writeSync } from "node:fs";
import { build, failed, hostValues, ok, serve } from "./cmconf_kit.mjs";

setInterval(() => {}, 60_000); // as a target's own timers do, this keeps the process alive

async function fail(call) {
  try {
    return ok(await call("a"));
  } catch (error) {
    return failed("host", error, { error: { code: "operation_failed" } });
  }
}

function shared() {
  let value = [1]; // small in memory, and 2**60 values as JSON
  for (let i = 0; i < 60; i++) value = [value, value];
  return value;
}

async function runProgram(source, options, call, run) {
  const program = JSON.parse(source);
  const stopped = new Promise((resolve) => (run.stop = resolve));
  switch (program.do) {
    case "value": return ok(program.value, ["said"]);
    case "nothing": return ok();
    case "options": return ok(options);
    case "odd": return ok(build(program.value, program.odd));
    case "shared": return ok(shared());
    case "calls": return ok(await Promise.all(program.calls.map((args) => call(...args))));
    case "fail": return fail(call);
    case "wait":
      await stopped;
      return failed("cancelled", new Error("stopped"));
    case "abandon": {
      const controller = new AbortController();
      call("a", undefined, controller.signal);
      controller.abort();
      await stopped;
      return ok(1);
    }
    case "noise":
      writeSync(1, program.text);
      return ok(1);
    case "orphan":
      Promise.reject(new Error("nobody listens"));
      return new Promise(() => {});
  }
  throw new Error("no such program");
}

serve({ ...JSON.parse(process.argv[2]), host_values: hostValues }, (policy) => {
  if ("pages" in policy) return { unsupported: ["pages"] };
  if (policy.wall_time_ms === 0) return failed("policy", new RangeError("zero"));
  if ("plain" in policy) return { run: runProgram };
  const effective = { wall_time_ms: { value: 1000, from: "documented" } };
  return { effective, prelude: "host", run: runProgram, cancel: (run) => run.stop() };
});
