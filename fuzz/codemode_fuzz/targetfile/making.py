"""Target files: the shipped ones with lines dropped and changed; pure functions of a seed."""

from __future__ import annotations

from random import Random
from typing import Final

from codemode_conformance.target import FILE_NAME, SHIPPED, shipped_targets

from codemode_fuzz.splicing import splice

_VALUES: Final = (
    *(b"0", b"-1", b"1", b"1.5", b"true", b'""', b'"x"', b"[]", b"{}", b"[1]", b'["a"]', b"nan"),
    *(b"inf", b"1979-05-27", b"07:32:00", b'"${here}"', b'"${nothing}"', b'"${"', b'"$${x}"'),
    *(
        b'"\\u0000"',
        b'"\xff"',
        b"[[]]",
        b'{ file = "x" }',
        b"9" * 400,
        b'"(["',
        b'"' + b"a" * 500 + b'"',
    ),
    *(b'"../x"', b'"package-lock.json"', b'"/etc/hostname"', b"[" * 300, b"0x10", b"'''x'''"),
)
_LINES: Final = (
    *(b"[target]", b"[engine]", b"[worker]", b"[parent]", b"[server]", b"[claims]", b"[install]"),
    *(
        b"[a.b.c]",
        b"[[target]]",
        b"[[server.answer.failure]]",
        b"x = 1",
        b"format = 1",
        b"format = 2",
    ),
    *(
        b'command = ["x"]',
        b'name = "a"',
        b'version = "1"',
        b'worker_pattern = "["',
        b"=",
        b"#",
        b"]",
    ),
    *(b'text = "("', b'env = { A = "1" }', b'lock = "no.json"', b'lock = "package-lock.json"'),
)
MINIMAL: Final = b'format = 1\n[target]\nname = "t"\nversion = "1"\n[engine]\ncommand = ["x"]\n'
SERVER: Final = b"""format = 1
[target]
name = "s"
version = "1"
probe = { file = "${cache}/p.json", pointer = "/version" }
[install]
node = ">=20"
lock = "package-lock.json"
steps = [["npm", "ci"]]
scripts_allowed = ["x: builds"]
[server]
transport = "stdio"
command = ["${node}", "${cache}/x.js"]
tool = "run"
restart_every = 10
operations = "none"
[server.arguments]
program = "code"
"options.timeout_ms" = "timeout"
[server.answer]
success = { pointer = "/structured/success", equals = true }
value = { pointer = "/structured/result" }
message = { pointer = "/structured/error" }
[[server.answer.failure]]
text = "^Timeout"
category = "time"
[server.identity]
language = ["javascript"]
mapping = "text"
capabilities = ["options.timeout"]
settable = []
[server.identity.alternatives]
script_style = "async"
[server.identity.effective]
wall_time_ms = { value = 30000, from = "documented" }
[claims]
"policy.wall_time_ms" = "https://example.org"
"""


def mutate_file(data: bytes, max_size: int, seed: int) -> bytes:
    """Another target file: a shipped one, or `data`, with a few lines changed."""
    rng = Random(seed)
    lines = (data if data and rng.random() < 0.8 else rng.choice(_bases())).split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change(rng, lines)
    return b"\n".join(lines)[:max_size]


def _change(rng: Random, lines: list[bytes]) -> None:
    at = rng.randrange(len(lines)) if lines else 0
    choice = rng.randrange(7)
    if choice == 0 or not lines:
        lines.insert(at, rng.choice(_LINES))
    elif choice == 1:
        del lines[at]
    elif choice == 2:
        lines.insert(at, lines[rng.randrange(len(lines))])
    elif choice == 3:
        lines[at] = splice(rng, lines[at])
    elif choice == 4 and b"=" in lines[at]:
        lines[at] = lines[at].partition(b"=")[0] + b"= " + rng.choice(_VALUES)
    elif choice == 5:
        lines[at], lines[-1] = lines[-1], lines[at]
    else:
        key, _, value = lines[at].partition(b"=")
        lines[at] = rng.choice(
            (key + b".x =" + value, key.upper() + b"=" + value, b"x" + lines[at])
        )


def file_seeds() -> dict[str, bytes]:
    """An engine, a server, each wrong value and line in them; nothing of the shipped files."""
    seeds = {"engine": MINIMAL, "server": SERVER}
    for number, value in enumerate(_VALUES):
        seeds[f"value-{number:02}"] = MINIMAL.replace(b'"t"', value)
        seeds[f"word-{number:02}"] = MINIMAL.replace(b'"x"', value)
    for number, line in enumerate(_LINES):
        seeds[f"line-{number:02}"] = MINIMAL + line + b"\n"
    for number in range(40):
        rng = Random(f"file {number}")
        lines = SERVER.split(b"\n")
        _change(rng, lines)
        seeds[f"made-{number:02}"] = b"\n".join(lines)
    return seeds


def _bases() -> list[bytes]:
    return [MINIMAL, SERVER, *map(_shipped, shipped_targets())]


def _shipped(name: str) -> bytes:
    """A shipped file without its comments, and without most of its links."""
    lines = (SHIPPED / name / FILE_NAME).read_bytes().split(b"\n")
    kept = [line for line in lines if line.strip() and not line.startswith(b"#")]
    links = [line for line in kept if b'= "https://' in line and not line.startswith(b"homepage")]
    return b"\n".join(line for line in kept if line not in links[2:]) + b"\n"
