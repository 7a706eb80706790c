"""`python -m codemode_fuzz`: fuzz a target, replay inputs, write seeds."""

from __future__ import annotations

import os
import sys

from codemode_fuzz.main import main

try:
    status = main(sys.argv[1:])
    sys.stdout.flush()
except KeyboardInterrupt:
    print("codemode_fuzz: interrupted", file=sys.stderr)
    status = 130
except BrokenPipeError:
    # The reader of our output left; the end of the interpreter would try to write once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    status = 1
sys.exit(status)
