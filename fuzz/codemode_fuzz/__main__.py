"""`python -m codemode_fuzz`: fuzz a target, replay inputs, write seeds."""

from __future__ import annotations

import sys

from codemode_fuzz.main import main

sys.exit(main(sys.argv[1:]))
