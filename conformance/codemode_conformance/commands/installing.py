"""`cmconf install`: bring a target into the cache, and show each step."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from codemode_conformance.install import install
from codemode_conformance.target import find_target

if TYPE_CHECKING:
    import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf install`."""
    parser = commands.add_parser("install", help="install a target into the cache")
    parser.add_argument("target", metavar="NAME|FILE", help="a shipped target, or a target file")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Install and say where it is."""
    target = find_target(arguments.target)
    installed = install(target, lambda line: print(line, file=sys.stderr, flush=True))
    place = f" in {installed.values['cache']}" if target.install.steps else ", nothing to install"
    print(f"{target.name} {target.version} is ready{place}")
    return 0
