"""`python -m codemode_reference`: run a program from the command line."""

from __future__ import annotations

import sys

from codemode_reference.cli import main

sys.exit(main())
