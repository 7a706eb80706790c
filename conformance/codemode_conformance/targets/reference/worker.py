# SPDX-License-Identifier: Apache-2.0
"""Becomes a worker of the reference, as its parent starts one: same program, no environment.

`CODEMODE_WORKER_PROGRAM` names the file in which the program is kept from start to start. The
target starts this without `site`, which takes longer than the worker itself.
"""

import os
import sys

MAKE = """
import sys
from codemode_reference.bundle import worker_program
from codemode_spec.tables import DEFAULT_PROFILE
with open(sys.argv[1], "wb") as file:
    file.write(worker_program(DEFAULT_PROFILE))
"""
program = os.environ["CODEMODE_WORKER_PROGRAM"]
if not os.path.exists(program):  # noqa: PTH110  pathlib takes longer to load than all of this
    import subprocess

    # Whole or not there, for one that is started meanwhile.
    unfinished = f"{program}.{os.getpid()}"
    subprocess.run([sys.executable, "-c", MAKE, unfinished], check=True)
    os.replace(unfinished, program)  # noqa: PTH105
python = os.path.realpath(sys.executable)
os.execve(python, [python, "-I", "-S", "-E", program, str(os.getppid()), ""], {})  # noqa: S606
