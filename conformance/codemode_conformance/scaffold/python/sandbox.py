"""A stand-in, so that the adapter works from the start: put your implementation here.

Each program runs in a process of its own, in the JavaScript engine of the package `quickjs-ng`.
"""

import asyncio
import json
import sys

import quickjs

LINE_BYTES = 1 << 26

BOOT = """
(() => {
  const { parse, stringify } = JSON, { create } = Object;
  const AsyncFunction = (async () => {}).constructor;
  const then = Function.prototype.call.bind(Promise.prototype.then);
  const NewPromise = Promise, NewError = Error;
  const waiting = create(null);
  let last = 0, calls = "", ended = "";
  const call = (name, args) => new NewPromise((resolve, reject) => {
    last += 1;
    waiting[last] = { resolve, reject };
    calls += stringify([last, `${name}`, args ?? {}]) + "\\n";
  });
  globalThis.tools = Object.freeze({ call });
  const end = (kind, text) => { ended = `["${kind}",${text ?? "null"}]`; };
  return (command, text) => {
    if (command === "start") {
      last = 0, calls = "", ended = "";
      const failed = (error) => end("error", stringify(`${error}`));
      try {
        then(AsyncFunction(text)(), (value) => {
          if (value === undefined) end("nothing");
          else end("value", stringify(value));
        }, failed);
      } catch (error) { failed(error); }
    } else if (command === "settle") {
      const { id, good, value } = parse(text);
      if (good) waiting[id].resolve(value);
      else waiting[id].reject(new NewError(value));
    }
    const out = calls;
    calls = "";
    return out + ended;
  };
})()
"""


class OutOfTimeError(Exception):
    """The program was stopped at its deadline."""


class ProgramError(Exception):
    """The program threw, or can never end."""


async def run(source, tools, timeout_ms, heap_bytes):
    """The value of a program as JSON text, or None; it calls `tools.call(name, args)`.

    A program is the body of an async function. `tools` are async functions by name.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", __file__, str(heap_bytes)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE_BYTES,
    )
    tasks = []
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            process.stdin.write(json.dumps(source).encode() + b"\n")
            async for line in process.stdout:
                kind, *said = json.loads(line)
                if kind == "call":
                    tasks.append(asyncio.create_task(answer(process.stdin, tools, *said)))
                elif kind == "error":
                    raise ProgramError(said[0])
                else:
                    return json.dumps(said[0]) if kind == "value" else None
        raise ProgramError("the worker ended without an outcome")
    except TimeoutError:
        raise OutOfTimeError(f"stopped after {timeout_ms} ms") from None
    finally:
        for task in tasks:
            task.cancel()
        if process.returncode is None:
            process.kill()
        await process.wait()


async def answer(stdin, tools, number, name, arguments):
    """Call a tool and hand the program what comes of it."""
    try:
        found = {"id": number, "good": True, "value": await tools[name](arguments)}
    except Exception as error:
        found = {"id": number, "good": False, "value": str(error)}
    stdin.write(json.dumps(found).encode() + b"\n")


def work(heap_bytes):
    """Be the worker: one program from standard input to its end."""
    engine = quickjs.Context()
    engine.set_memory_limit(heap_bytes)
    control = engine.eval(BOOT)
    said = control("start", json.loads(sys.stdin.readline()))
    unsettled = 0
    while True:
        *calls, ended = said.split("\n")
        for call in calls:
            unsettled += 1
            print(json.dumps(["call", *json.loads(call)]), flush=True)
        if ended:
            return ended
        if engine.execute_pending_job():
            said = control("drain", "")
        elif unsettled:
            unsettled -= 1
            said = control("settle", sys.stdin.readline())
        else:
            return json.dumps(["error", "the program waits for nothing"])


if __name__ == "__main__":
    try:
        print(work(int(sys.argv[1])))
    except quickjs.JSException as error:
        print(json.dumps(["error", str(error)]))
