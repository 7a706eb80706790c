"""The worker of a soak: the real one, or the hostile one if the program names a scenario.

    python -I -S switch.py HOSTILE FILE WORKER...

It looks at the `execute` frame without taking it from the pipe, so that whichever it becomes reads
the frame itself. Linux only.
"""

import ctypes
import os
import re
import sys

NAMED = re.compile(rb'"source":"// scenario ([a-z-]+)')
CHUNK = 65536
FAILED = 97

hostile, scenarios, *worker = sys.argv[1:]
ours, copy = os.pipe()
found = ctypes.CDLL(None, use_errno=True).tee(0, copy, CHUNK, 0)
if found <= 0:
    # Nothing will come; or it could not be looked at, which must not look like a worker's fault.
    sys.exit(0 if found == 0 else FAILED)
name = NAMED.search(os.read(ours, found))
os.close(ours)
os.close(copy)
if name:
    worker = [sys.executable, "-I", "-S", hostile, scenarios, name[1].decode()]
os.execv(worker[0], worker)
