"""A fake MCP server on the standard library: a program is a list of verbs, one a line.

The arguments are the transport, `stdio` or `http` or `sse`, and a port. `return JSON` answers in
`structured`, `text JSON` only as text; then there is one verb for each way to misbehave. Further
arguments are about its end: with `leaves` it starts a process at each call and never looks at it
again, with `worker` one that goes a moment after it; with `stays` it does not go when it is told.
"""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading

TRANSPORT, PORT, END = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
HOSTILE = "\x1b[31m<b>`|[x](y) ]]>"
SLEEPER = [sys.executable, "-c", "import time; time.sleep(120)", HOSTILE, "a-worker"]
WORKER = ["sh", "-c", "cat; sleep 0.3"]
STARTED = []
LOCK = threading.Lock()
CALLS = []
TABLE = []
CANCELLED = threading.Event()
state = {"calls": 0, "deaf": False}


def _out(data):
    with LOCK:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _result(structured=None, text=None, *, error=False):
    text = json.dumps(structured) if text is None else text
    found = {"content": [{"type": "text", "text": text}]}
    if structured is not None:
        found["structuredContent"] = structured
    if error:
        found["isError"] = True
    return {"result": found}


class _Call:
    """One tool call; each verb returns the answer, or None to go on with the next line."""

    def __init__(self, number, arguments):
        self.id = number
        self.arguments = arguments

    def perform(self):
        """The answer, None when there is none."""
        for line in self.arguments["code"].splitlines():
            verb, _, rest = line.strip().partition(" ")
            answer = getattr(self, "_" + verb)(rest)
            if answer is not None:
                return None if answer == "nothing" else answer
        return _result({"success": True})

    def message(self, answer):
        """The line of an answer to this call."""
        message = {"jsonrpc": "2.0", "id": self.id, **answer}
        return json.dumps(message).encode() + b"\n"

    def _return(self, rest):
        return _result({"success": True, "result": json.loads(rest.rstrip(";"))})

    def _text(self, rest):
        return _result(text=json.dumps({"success": True, "result": json.loads(rest)}))

    def _fail(self, rest):
        code, _, message = rest.partition(" ")
        return _result({"success": False, "code": code, "error": message}, error=True)

    def _thrown(self, rest):
        return _result({"success": False, "error": rest}, error=True)

    def _rpc_error(self, rest):
        return {"error": {"code": int(rest), "message": "the server stumbled"}}

    def _wrong(self, _):
        return {"result": {"content": "no list"}}

    def _neither(self, _):
        return {"nothing": 1}

    def _deep(self, rest):
        depth = int(rest)
        text = '{"success": true, "result": ' + "[" * depth + "]" * depth + "}"
        _out(
            f'{{"jsonrpc":"2.0","id":{self.id},"result":{{"content":[],'.encode()
            + f'"structuredContent":{text}}}}}\n'.encode()
        )
        return "nothing"

    def _huge(self, rest):
        return _result({"success": True, "result": "h" * int(rest)}, text="")

    def _raw(self, rest):
        """An answer whose result is written as it stands."""
        _out(
            f'{{"jsonrpc":"2.0","id":{self.id},"result":{{"content":[],"structuredContent":'
            f'{{"success":true,"result":{rest}}}}}}}\n'.encode()
        )
        return "nothing"

    def _options(self, _):
        return self._return(json.dumps({k: v for k, v in self.arguments.items() if k != "code"}))

    def _env(self, rest):
        return self._return(json.dumps(os.environ.get(rest)))

    def _calls(self, _):
        return self._return(str(state["calls"]))

    def _pid(self, _):
        return self._return(str(os.getpid()))

    def _enter(self, rest):
        op, _, arguments = rest.partition(" ")
        TABLE.append({"op": op, "args": arguments})

    def _stray(self, rest):
        _out(rest.encode() + b"\n")

    def _bytes(self, rest):
        _out(bytes.fromhex(rest) + b"\n")

    def _unasked(self, rest):
        _out(json.dumps({"jsonrpc": "2.0", "id": int(rest), "result": {}}).encode() + b"\n")

    def _twice(self, rest):
        _out(self.message(self._return(rest)))

    def _forge(self, rest):
        """What a program prints that guesses the number of its own call."""
        _out(self.message(self._return(rest)))

    def _errors(self, rest):
        sys.stderr.write(rest + "\n")
        sys.stderr.flush()

    def _flood(self, rest):
        for _ in range(int(rest)):
            _out(b"f" * (1 << 20) + b"\n")

    def _allocate(self, rest):
        state["held"] = b"\1" * (int(rest) << 20)
        return self._hang("")

    def _hang(self, _):
        threading.Event().wait()

    def _until_cancelled(self, _):
        CANCELLED.wait()

    def _block(self, _):
        state["deaf"] = True
        self._hang("")

    def _status(self, _):
        return self._return("1")

    def _forge_event(self, _):
        return self._return("1")

    def _die(self, rest):
        os._exit(int(rest))

    def _die_after(self, rest):
        _out(self.message(self._return(rest)))
        os._exit(7)


def _answer(message):
    """The answer to a request, as fields of its message."""
    method = message["method"]
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "fake", "version": "1"}
        return {"result": {"protocolVersion": version, "capabilities": {}, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/call":
        state["calls"] += 1
        if "leaves" in END:
            STARTED.append(subprocess.Popen(SLEEPER))
        if "worker" in END:
            STARTED.append(subprocess.Popen(WORKER, stdin=subprocess.PIPE))
        name, arguments = message["params"]["name"], message["params"].get("arguments", {})
        if name == "clear":
            TABLE.clear()
            return _result({"done": True}, error=arguments.get("broken", False))
        if name == "list":
            return _result({"rows": TABLE})
        return _Call(message["id"], arguments).perform()
    return {"error": {"code": -32601, "message": "no such method"}}


def _serve_stdio():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            CANCELLED.set()
        if "id" not in message or state["deaf"]:
            continue
        threading.Thread(target=_answer_line, args=(message,), daemon=True).start()
    if "stays" in END:
        threading.Event().wait()
    os._exit(0)


def _answer_line(message):
    answer = _answer(message)
    if answer is not None:
        _out(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode() + b"\n")


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        """One message; the answer is a body, or an event."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message.get("method") == "notifications/cancelled":
            CANCELLED.set()
        if "id" not in message:
            return self._send(202, "text/plain", b"")
        answer = {"jsonrpc": "2.0", "id": message["id"], **(_answer(message) or {})}
        code = message.get("params", {}).get("arguments", {}).get("code", "")
        data = json.dumps(answer).encode()
        if code.startswith("forge_event"):
            data += b"\n\ndata: " + json.dumps({**answer, "id": 77}).encode()
        if TRANSPORT == "sse":
            return self._send(200, "text/event-stream", b"event: message\ndata: " + data + b"\n\n")
        return self._send(int(code[7:] or 200) if code.startswith("status") else 200, "", data)

    def do_GET(self):
        """No stream of its own."""
        self._send(405, "text/plain", b"")

    def do_DELETE(self):
        """The session ends."""
        self._send(200, "text/plain", b"")

    def _send(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind or "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing on stderr."""


if "stays" in END:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if TRANSPORT == "stdio":
    _serve_stdio()
else:
    http.server.ThreadingHTTPServer(("127.0.0.1", PORT), _Handler).serve_forever()
