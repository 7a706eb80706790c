"""Where inputs and findings are kept that are not in the repository."""

from __future__ import annotations

import os
from pathlib import Path


def work_folder(name: str) -> Path:
    """The folder of a target: in $CMCONF_CACHE, else in `.cmconf-cache`."""
    return Path(os.environ.get("CMCONF_CACHE") or ".cmconf-cache").absolute() / "fuzz" / name
