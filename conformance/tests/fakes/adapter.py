"""A fake adapter on the standard library: a program is a list of verbs, one a line.

`return JSON`, `fail CATEGORY [CODE]`, `call OP JSON` (waits), `send OP JSON` (does not), `last`
(the reply of the last call), `source`, and one verb for each way to misbehave. The first argument
is a JSON object that changes the identity, the session or the start.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

CONFIG = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
LOCK = threading.Lock()
IDENTITY = {
    "target": "fake",
    "version": "1.0",
    "language": ["javascript"],
    "settable": ["wall_time_ms"],
    "alternatives": {"script_style": "async"},
    "capabilities": ["op.value", "op.fail", "op.delay", "op.never", "cancel.native"],
    "mapping": "typed",
    "sessions": 1,
    "runs_per_session": 2,
    "host_values": ["NaN"],
    **CONFIG.get("identity", {}),
}
state = {"key": "", "blocked": False, "walls": {}, "first": True}
runs = {}


def _write(text):
    with LOCK:
        sys.stdout.write(text)
        sys.stdout.flush()


def _emit(m, **fields):
    _write("\n" + json.dumps({"m": m, "k": state["key"], **fields}) + "\n")


class _Run:
    """One run; the verb `x` is the method `_x`, which returns True when the run is over."""

    def __init__(self, number, source, session):
        self.r, self.source, self.session = number, source, session
        self.replies, self.news = {}, threading.Condition()
        self.cancelled = threading.Event()
        self.count = 0
        self.reply = None

    def perform(self):
        """Do all verbs."""
        before, after = CONFIG.get("wrap", ["", ""])
        for line in self.source.removeprefix(before).removesuffix(after).splitlines():
            verb, _, rest = line.strip().partition(" ")
            # What is no verb is a prelude.
            if getattr(self, f"_{verb}", lambda _: False)(rest):
                return

    def outcome(self, **fields):
        """Say how the run ended."""
        _emit("outcome", r=self.r, **fields)
        return True

    def give(self, value):
        """End with a value."""
        return self.outcome(ok=True, present=True, value=value)

    def called(self, rest):
        """Send one host call; returns its number."""
        op, _, text = rest.partition(" ")
        self.count += 1
        args = {"present": bool(text)} | ({"value": json.loads(text)} if text else {})
        _emit("call", r=self.r, c=self.count, op=op, args=args)
        return self.count

    def wait(self, number):
        """Wait for the reply of one call."""
        with self.news:
            self.news.wait_for(lambda: number in self.replies)
        return self.replies[number]

    def _return(self, rest):
        if rest == "1" and self._is_late():
            time.sleep(state["walls"][self.session] / 1000)
            return self.outcome(ok=False, category="time", native={})
        if rest == "1" and CONFIG.get("late") == "barely":
            time.sleep(min(state["walls"][self.session], 1000) * 0.75 / 1000)
        if rest == "1" and "last_words" in CONFIG:
            self.give(1)
            os._exit(0)
        unwell = rest == "1" and CONFIG.get("unwell")
        return self.give(True if unwell else json.loads(rest))

    def _is_late(self):
        """Tell whether `return 1` passes its deadline, by the rule `late` of the configuration."""
        wall, first = state["walls"][self.session], state["first"]
        state["first"] = False
        wedged = self.session == state.setdefault("wedged", self.session)
        rules = {"first": first, "short": wall < 1000, "session": wedged}
        rules |= {"all": True, "barely": wedged}
        return rules.get(CONFIG.get("late"), False)

    def _last(self, _):
        return self.give(self.reply)

    def _source(self, _):
        return self.give(self.source)

    def _absent(self, _):
        return self.outcome(ok=True, present=False)

    def _fail(self, rest):
        category, _, code = rest.partition(" ")
        error = {"error": {"code": code}} if code else {}
        return self.outcome(ok=False, category=category, native={"message": "no"}, **error)

    def _say(self, rest):
        native = {"name": "N", "message": json.loads(rest)}
        return self.outcome(ok=False, category="other", native=native)

    def _call(self, rest):
        reply = self.wait(self.called(rest))
        self.reply = reply.get("odd") or reply.get("value") if reply["ok"] else reply["error"]

    def _send(self, rest):
        self.called(rest)

    def _all(self, rest):
        op, _, count = rest.partition(" ")
        for number in [self.called(f"{op} {{}}") for _ in range(int(count))]:
            self.wait(number)
        return self.give(list(self.replies))

    def _noise(self, rest):
        _write(rest + "\n")

    def _stderr(self, rest):
        sys.stderr.write(rest + "\n")

    def _note(self, rest):
        _emit("note", kind="test", text=rest)

    def _forge(self, _):
        line = {"m": "outcome", "r": self.r, "ok": True, "present": True, "value": "forged"}
        _write(json.dumps(line) + "\n" + json.dumps({**line, "k": "wrongwrong"}) + "\nunfinished")

    def _twice(self, _):
        return self.give(1) and self.give(2)

    def _again_later(self, _):
        threading.Timer(0.15, self.give, [2]).start()
        return self.give(1)

    def _hang(self, _):
        threading.Event().wait()

    def _until_cancel(self, _):
        self.cancelled.wait()
        return self.outcome(ok=False, category="cancelled", native={})

    def _block(self, _):
        state["blocked"] = True
        threading.Event().wait()

    def _exit(self, rest):
        os._exit(int(rest))

    def _die(self, rest):
        self.give(json.loads(rest))
        os._exit(7)

    def _allocate(self, rest):
        held = bytearray(b"x") * (int(rest) << 20)
        threading.Event().wait()
        return held

    def _orphan(self, _):
        code = "import os,time\nif os.fork(): os._exit(0)\nos.setsid()\ntime.sleep(600)"
        subprocess.run([sys.executable, "-c", code], check=True, stdin=subprocess.DEVNULL)

    def _child(self, _):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    def _flood(self, rest):
        for _ in range(int(rest)):
            _write(("x" * 1023 + "\n") * 1024)

    def _long(self, rest):
        _write("y" * int(rest) + "\n")

    def _long_value(self, rest):
        return self.give("y" * int(rest))

    def _deep(self, rest):
        head = json.dumps({"m": "outcome", "k": state["key"], "r": self.r, "ok": True})
        value = "[" * int(rest) + "]" * int(rest)
        _write(f'\n{head[:-1]},"present":true,"value":{value}}}\n')
        return True

    def _later(self, _):
        state["later"] = self
        return self.give(1)

    def _earlier(self, _):
        state["later"].give(2)

    def _evade(self, _):
        _emit("unsupported", of="run", r=self.r, fields=["loops"])
        return True

    def _broken(self, _):
        return self.outcome(ok="yes")

    def _fault(self, _):
        _emit("fault", of="run", text="the adapter stumbled")
        return True

    def _repeat_call(self, _):
        for _ in range(2):
            _emit("call", r=self.r, c=1, op="op", args={"present": False})

    def _late_call(self, _):
        self.give(1)
        self.called("op {}")
        _emit("call_cancelled", r=self.r, c=1)
        return True

    def _env(self, rest):
        return self.give(os.environ.get(rest))

    def _environment(self, _):
        return self.give(sorted(os.environ))

    def _read(self, rest):
        return self.give(pathlib.Path(rest).read_text(encoding="ascii").strip()[::-1])

    def _knock(self, rest):
        socket.create_connection(("127.0.0.1", urllib.parse.urlsplit(rest).port)).close()

    def _unlink(self, rest):
        pathlib.Path(rest).unlink()

    def _fetch(self, rest):
        return self.give(urllib.request.urlopen(rest).read().decode())

    def _pid(self, _):
        return self.give(os.getpid())

    def _folder(self, _):
        return self.give(str(pathlib.Path.cwd()))


class _Adapter:
    """The message `x` is the method `_x`."""

    def receive(self, message):
        """Do what one message asks."""
        if message["m"] in CONFIG.get("mute", []):
            return
        getattr(self, f"_{message['m']}")(message)

    def _hello(self, message):
        state["key"] = message["key"]
        _emit("identity", **IDENTITY)

    def _open(self, message):
        policy = message["policy"]
        if any(row in policy for row in CONFIG.get("refuse", [])):
            fields = {"category": "policy", "error": {"code": "invalid_policy"}, "native": {}}
            _emit("refused", s=message["s"], **fields)
            return
        if "unsettable" in CONFIG and policy:
            _emit("unsupported", **{**CONFIG["unsettable"], "s": message["s"]})
            return
        wall = policy.get("wall_time_ms", CONFIG.get("wall", 5000))
        state["walls"][message["s"]] = wall
        effective = {"wall_time_ms": {"value": wall, "from": "set"}, **CONFIG.get("effective", {})}
        session = {"prelude": CONFIG.get("prelude", ""), "wrap": CONFIG.get("wrap", ["", ""])}
        _emit("opened", s=message["s"], effective=effective, unknown=[], **session)

    def _run(self, message):
        if message["options"] and "options.timeout" not in IDENTITY["capabilities"]:
            _emit("unsupported", of="run", r=message["r"], fields=list(message["options"]))
            return
        run = runs[message["r"]] = _Run(message["r"], message["source"], message["s"])
        threading.Thread(target=run.perform, daemon=True).start()

    def _return(self, message):
        run = runs[message["r"]]
        with run.news:
            run.replies[message["c"]] = message
            run.news.notify_all()

    def _cancel(self, message):
        if "cancel.native" in IDENTITY["capabilities"]:
            runs[message["r"]].cancelled.set()
        else:
            _emit("unsupported", of="cancel", r=message["r"])

    def _ping(self, message):
        _emit("pong", n=message["n"])

    def _close(self, message):
        _emit("closed", s=message["s"])

    def _stop(self, _):
        if CONFIG.get("stop") != "ignore":
            os._exit(0)


def _main():
    start = CONFIG.get("start")
    if start == "die":
        sys.stderr.write("no engine here: \x1b[31mred\u202e\n")
        sys.exit(3)
    if start == "noise":
        _write("Welcome \x1b[2J to the engine\n")
    if start in ("silent", "noise"):
        time.sleep(600)
    adapter = _Adapter()
    for line in sys.stdin:
        adapter.receive(json.loads(line))
        while state["blocked"]:
            time.sleep(600)


_main()
