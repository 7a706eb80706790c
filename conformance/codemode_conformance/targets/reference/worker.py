# SPDX-License-Identifier: Apache-2.0
"""Becomes a worker of the reference, as its parent starts one: same program, no environment.

`CODEMODE_WORKER_PROGRAM` may name the file in which the program is kept from start to start.
"""

import os
import sys
from pathlib import Path

program = Path(os.environ.get("CODEMODE_WORKER_PROGRAM") or f"{os.environ['TMPDIR']}/worker.pyc")
if not program.exists():
    # Only here: it takes most of the time of a start.
    from codemode_reference.bundle import worker_program
    from codemode_spec.tables import DEFAULT_PROFILE

    program.write_bytes(worker_program(DEFAULT_PROFILE))
python = os.path.realpath(sys.executable)
os.execve(python, [python, "-I", "-S", "-E", str(program), str(os.getppid()), ""], {})  # noqa: S606
