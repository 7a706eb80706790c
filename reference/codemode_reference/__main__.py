"""`python -m codemode_reference`: run a program from the command line."""

import os
import sys

if sys.platform == "win32":
    sys.exit("codemode_reference runs on Linux and macOS, not on Windows")
try:
    from codemode_reference.cli import main
    from codemode_reference.protection import hide

    # This process owns the operations and what they know; nobody debugs it by another process.
    hide()
    status = main()
    sys.stdout.flush()
except BrokenPipeError:
    # Nobody reads the outcome; the end of the interpreter would try to write once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    status = 1
except KeyboardInterrupt:
    # While it imports: `main` answers later ones itself.
    status = 130
sys.exit(status)
