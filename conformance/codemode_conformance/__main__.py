"""`python -m codemode_conformance` is `cmconf`."""

from __future__ import annotations

import sys


def entry() -> int:
    """Run `cmconf`. Ctrl-C while it is still being loaded ends it like one that comes later."""
    try:
        from codemode_conformance.cli import main  # noqa: PLC0415  it takes a while

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("cmconf: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(entry())
