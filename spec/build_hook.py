"""Puts the bundle of the specification into the wheel, and beside the sources of a checkout.

There it is read as long as it is of exactly these sources, which takes seconds to read.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BundleHook(BuildHookInterface[Any]):
    """The build hook of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the bundle aside and have it packed as `codemode_spec/bundle.json`."""
        sys.path.insert(0, str(Path(self.root) / "spec"))
        from codemode_spec import SpecificationError, bundle  # noqa: PLC0415  what is being built

        if version == "editable":
            # Sources that are being changed may be wrong; then there is none.
            with contextlib.suppress(SpecificationError):
                (Path(bundle.__file__).parent / bundle.NAME).write_bytes(bundle.build())
            return
        made = Path(self.directory) / bundle.NAME
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(bundle.build())
        build_data["force_include"][str(made)] = f"codemode_spec/{bundle.NAME}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing but the wheel."""
        del version, artifact_path
        for made in build_data["force_include"]:
            Path(made).unlink(missing_ok=True)
