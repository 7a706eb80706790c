"""What the harness itself takes for a case, with an adapter of nothing.

    python conformance/bench/overhead.py [CASES]

Median wall time, and work of the harness's own process, of a case that asks for nothing of
processes, of one that asks for them and is looked at (level B), and of the same with a tracer
(level A); each without a worker process and with one.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import codemode_spec
from codemode_conformance.engine import Engine
from codemode_conformance.install import Installed
from codemode_conformance.running import Bench
from codemode_conformance.target import load_target
from codemode_spec.expansion import expand

HERE = Path(__file__).parent
LINK = "https://example.org/null"
CASES = 200
TARGET = f"""format = 1
[target]
name = "null"
version = "1.0"
[engine]
command = ["${{python}}", {json.dumps(str(HERE / "null_adapter.py"))}]
worker_pattern = "null-worker$"
[engine.env]
NULL_WORKER = "{{worker}}"
[claims]
"policy.wall_time_ms" = "{LINK}"
"alternatives.isolation" = "{LINK}"
"""


def case(*, processes: bool) -> codemode_spec.Case:
    """One program, with or without evidence of its processes."""
    expected = {"outcome": "value", "value": 1}
    if processes:
        expected["evidence"] = {"processes": ["fresh"]}
    data = {
        "id": "lif.null-program",
        "title": "Nothing",
        "requirements": {"outcome": "CM-LIF-002", "evidence": "CM-LIF-005"},
        "roles": ["engine"],
        "after": "none",
        "program": {"javascript": "return 1"},
        "expect": [expected],
    }
    return expand("LIF", data)[0]


def measure(engine: Engine, count: int, *, processes: bool, traces: bool) -> tuple[float, float]:
    """Median milliseconds of a case: by the clock, and of this process's own work."""
    engine.traces = traces
    bench = Bench(engine, engine.start(), codemode_spec.shipped())
    one = case(processes=processes)
    for _ in range(5):
        bench.judge(one)
    walls, works = [], []
    for _ in range(count):
        wall, work = time.perf_counter(), time.process_time()
        bench.judge(one)
        walls.append(1_000 * (time.perf_counter() - wall))
        works.append(1_000 * (time.process_time() - work))
    return statistics.median(walls), statistics.median(works)


def main() -> None:
    """Print a line for each way."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CASES
    ways = [
        ("no evidence of processes", False, False, ""),
        ("level B, no process", True, False, ""),
        ("level A, no process", True, True, ""),
        ("no evidence, a worker", False, False, "/bin/true"),
        ("level B, a worker", True, False, "/bin/true"),
        ("level A, a worker", True, True, "/bin/true"),
    ]
    print(f"{'median of ' + str(count):<26}{'wall ms':>9}{'own work ms':>13}")
    with tempfile.TemporaryDirectory() as folder:
        for name, processes, traces, worker in ways:
            file = Path(folder) / "null.toml"
            file.write_text(TARGET.replace("{worker}", worker), encoding="utf-8")
            values = {"python": sys.executable, "here": folder, "cache": folder}
            with Engine(Installed(load_target(file), values)) as engine:
                wall, work = measure(engine, count, processes=processes, traces=traces)
            print(f"{name:<26}{wall:>9.2f}{work:>13.2f}", flush=True)


if __name__ == "__main__":
    main()
