"""`python -m codemode_conformance` is `cmconf`."""

import sys

from codemode_conformance.cli import main

sys.exit(main())
