"""Environment variables that a target's processes may have: an allow-list, never our own all."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_RUN: Final = ("PATH", "LANG")
_INSTALL: Final = (
    *("PATH", "LANG", "HOME"),
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_CERT", "REQUESTS_CA_BUNDLE"),
    *("NPM_CONFIG_REGISTRY", "npm_config_registry", "PIP_INDEX_URL", "PIP_FIND_LINKS"),
    *("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"),
)
_SECRET_IN_URL: Final = re.compile(r"//[^/\s]*@")


def for_run(temporary: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a target's process: PATH, LANG, TMPDIR and what the target file adds."""
    chosen = {name: os.environ[name] for name in _RUN if name in os.environ}
    return {**chosen, "TMPDIR": str(temporary), **extra}


def for_install(temporary: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of an install step.

    Package managers need the home folder, certificates and the address of a mirror besides; an
    address that carries a password is left out.
    """
    chosen = {
        name: os.environ[name]
        for name in _INSTALL
        if name in os.environ and not _SECRET_IN_URL.search(os.environ[name])
    }
    return {**chosen, "TMPDIR": str(temporary), **extra}
