"""`python -m codemode_reference`: run a program from the command line."""

import sys

try:
    from codemode_reference.cli import main

    status = main()
except KeyboardInterrupt:
    # While it imports: `main` answers later ones itself.
    status = 130
sys.exit(status)
