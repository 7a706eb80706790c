"""`python -m codemode_reference`: run a program from the command line."""

import sys

if sys.platform == "win32":
    sys.exit("codemode_reference runs on Linux and macOS, not on Windows")
try:
    from codemode_reference.cli import main
    from codemode_reference.protection import hide

    # This process owns the operations and what they know; nobody debugs it by another process.
    hide()
    status = main()
except KeyboardInterrupt:
    # While it imports: `main` answers later ones itself.
    status = 130
sys.exit(status)
