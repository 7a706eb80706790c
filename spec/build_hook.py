"""Puts the bundle of the specification into the wheel; an editable install reads the sources."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BundleHook(BuildHookInterface[Any]):
    """The build hook of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the bundle aside and have it packed as `codemode_spec/bundle.json`."""
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root) / "spec"))
        from codemode_spec import bundle  # noqa: PLC0415  of the sources that are being built

        made = Path(self.directory) / bundle.NAME
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(bundle.build())
        build_data["force_include"][str(made)] = f"codemode_spec/{bundle.NAME}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing but the wheel."""
        del version, artifact_path
        for made in build_data["force_include"]:
            Path(made).unlink(missing_ok=True)
