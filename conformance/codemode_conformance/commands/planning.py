"""How the chosen cases are run: in which order, which part of them, and how often."""

from __future__ import annotations

import argparse
import random
from typing import TYPE_CHECKING, Final

from codemode_conformance.failures import UsageError
from codemode_conformance.summary import Plan

if TYPE_CHECKING:
    from codemode_spec import Case

MOST_JOBS: Final = 64
MOST_SHARDS: Final = 1_000
MOST_REPEATS: Final = 1_000
MOST_SEED: Final = (1 << 53) - 1
CHOOSING: Final = {
    "--case": "case",
    "-k": "words",
    "--area": "area",
    "--class": "classes",
    "--requirement": "requirement",
    "--since-revision": "since_revision",
}
"""The options that choose cases, and the names under which they are kept."""


def add_plan(parser: argparse.ArgumentParser) -> None:
    """The arguments that say how to run."""
    how = parser.add_argument_group("how to run them")
    how.add_argument(
        "--jobs",
        type=lambda text: whole(text, 1, MOST_JOBS),
        default=1,
        metavar="N",
        help="run N cases at once, in processes of their own (default: 1; a busy machine makes "
        "deadlines late)",
    )
    how.add_argument(
        "--repeat",
        type=lambda text: whole(text, 1, MOST_REPEATS),
        default=1,
        metavar="N",
        help="run each case N times; one that fails in some of them is flaky",
    )
    how.add_argument(
        "--seed",
        type=lambda text: whole(text, 0, MOST_SEED),
        default=0,
        metavar="N",
        help="shuffle the cases by this seed (default: 0, the order of their ids)",
    )
    how.add_argument(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="run the I-th of N parts of the chosen cases; `cmconf merge` joins their reports",
    )
    how.add_argument(
        "--fail-fast", action="store_true", help="stop at the first failure of a MUST, or error"
    )


def whole(text: str, least: int, most: int) -> int:
    """A whole number in this range."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from {least} to {most}")
    return int(text)


def _shard(text: str) -> tuple[int, int]:
    number, slash, of = text.partition("/")
    if slash:
        count = whole(of, 1, MOST_SHARDS)
        return whole(number, 1, count), count
    raise argparse.ArgumentTypeError(f"{text!r} is not I/N, as 1/4")


def planned(chosen: list[Case], arguments: argparse.Namespace) -> tuple[list[Case], Plan]:
    """The cases of this run in their order, and the plan that a report tells.

    A shard takes every N-th of the ids in their order, whatever the seed, so that shards are alike
    in what they take and the same in what they leave out.
    """
    shard = arguments.shard
    cases = chosen if shard is None else chosen[shard[0] - 1 :: shard[1]]
    if not cases:
        raise UsageError(f"--shard {shard[0]}/{shard[1]}: only {len(chosen)} cases are chosen")
    if arguments.seed:
        cases = random.Random(arguments.seed).sample(cases, len(cases))  # noqa: S311  an order
    filters = []
    for option, name in CHOOSING.items():
        values = getattr(arguments, name)
        for value in values if isinstance(values, list) else [values]:
            filters += [option, value] if value else []
    return cases, Plan(len(chosen), tuple(filters), shard, arguments.seed, arguments.repeat)
