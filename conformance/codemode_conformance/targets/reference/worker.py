# SPDX-License-Identifier: Apache-2.0
"""Becomes a worker of the reference, as its parent starts one: same program, no environment."""

import os
import sys
from pathlib import Path

from codemode_reference.bundle import worker_program
from codemode_spec.tables import DEFAULT_PROFILE

program = Path(os.environ["TMPDIR"]) / "worker.pyc"
program.write_bytes(worker_program(DEFAULT_PROFILE))
python = os.path.realpath(sys.executable)
os.execve(python, [python, "-I", "-S", "-E", str(program), str(os.getppid()), ""], {})  # noqa: S606
