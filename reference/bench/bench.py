"""How fast the reference is beside what it is held to: a table with a line for each target.

    python reference/bench/bench.py [--rounds N] [--peers]

What is compared is measured in turns in one run, so that a busy machine slows all of it alike: read
the ratios of the medians, not the milliseconds. Peers loop inside a Node process of their own, so
their ratios are not in turns with ours; they are installed at pinned versions, without install
scripts, into .cmconf-cache. Nothing fails by its time: a target that is missed is marked.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import ends
import others
import reading
from lines import HEAD, Line
from starts import BARE, host_calls, start_lines, starts, throughput

if TYPE_CHECKING:
    from collections.abc import Iterable


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=200, help="calls of each kind (200)")
    parser.add_argument("--peers", action="store_true", help="other implementations too (npm)")
    options = parser.parse_args()
    rounds = options.rounds
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        found = await starts(rounds, Path(folder))
        table = show(start_lines(found))
        if options.peers:
            table += show(others.lines(found, rounds))
        table += show(await throughput(rounds, Path(folder)))
        table += show([await host_calls(rounds, found[BARE])])
    table += show(reading.lines(rounds))
    table += show(await ends.lines(rounds))
    judged = [line for line in table if line.target is not None]
    print(f"{sum(line.met for line in judged)} of {len(judged)} targets met")


def show(lines: Iterable[Line]) -> list[Line]:
    """Print each line as it comes."""
    shown = []
    for line in lines:
        print(line, flush=True)
        shown.append(line)
    return shown


if __name__ == "__main__":
    asyncio.run(main())
