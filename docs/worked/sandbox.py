"""A toy Code Mode sandbox: one JavaScript engine in this process, tools that programs may call."""

import asyncio
import json
import time

import quickjs

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


class Sandbox:
    """Runs programs, each the body of an async function, with `tools.call(name, args)`."""

    def __init__(self, timeout_ms, heap_bytes):
        self.timeout_ms, self.heap_bytes = timeout_ms, heap_bytes
        self.engine = self.new_engine()

    def new_engine(self):
        """An engine, and the function through which we talk to the program in it."""
        engine = quickjs.Context()
        engine.set_memory_limit(self.heap_bytes)
        return engine, engine.eval(BOOT)

    async def run(self, source, tools):
        """The value of a program as JSON text, or None; `tools` are async functions."""
        self.deadline = time.monotonic() + self.timeout_ms / 1000
        engine, control = self.engine
        answers = asyncio.Queue()
        tasks = []
        try:
            said = self.enter(engine, control, "start", source)
            open_calls = 0
            while True:
                *calls, ended = said.split("\n")
                for line in calls:
                    call = self.answer(answers, tools, *json.loads(line))
                    tasks.append(asyncio.create_task(call))
                    open_calls += 1
                if ended:
                    return self.value(*json.loads(ended))
                if self.enter(engine, engine.execute_pending_job):
                    said = self.enter(engine, control, "drain", "")
                elif open_calls:
                    left = self.deadline - time.monotonic()
                    text = await asyncio.wait_for(answers.get(), max(left, 0))
                    open_calls -= 1
                    said = self.enter(engine, control, "settle", text)
                else:
                    raise ProgramError("the program waits for nothing")
        except TimeoutError:
            raise OutOfTimeError(f"stopped after {self.timeout_ms} ms") from None
        finally:
            for task in tasks:
                task.cancel()

    def enter(self, engine, function, *arguments):
        """Let the engine work for as long as the program has time left."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        engine.set_time_limit(left)
        try:
            return function(*arguments)
        except quickjs.JSException as error:
            if time.monotonic() >= self.deadline:
                raise TimeoutError from None
            raise ProgramError(str(error)) from None

    @staticmethod
    async def answer(answers, tools, number, name, arguments):
        """Call a tool and put down what the program gets for it."""
        try:
            found = {"id": number, "good": True, "value": await tools[name](arguments)}
        except Exception as error:
            found = {"id": number, "good": False, "value": str(error)}
        await answers.put(json.dumps(found))

    @staticmethod
    def value(kind, value):
        if kind == "error":
            raise ProgramError(value)
        return json.dumps(value) if kind == "value" else None
