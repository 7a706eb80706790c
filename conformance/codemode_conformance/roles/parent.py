"""The parent role: cases put to a target's parent, which starts the suite's worker as its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemode_conformance.engine import Engine
from codemode_conformance.failures import StartError
from codemode_conformance.roles.rig import Rig

if TYPE_CHECKING:
    from codemode_conformance.install import Installed
    from codemode_conformance.target import Command, Target
    from codemode_conformance.transcript import Transcript


class ParentRole(Engine):
    """A target's parent behind an adapter, told to start `${worker}` for each run."""

    def __init__(self, installed: Installed, transcript: Transcript | None = None) -> None:
        super().__init__(installed, transcript)
        self._rig = Rig(transcript)
        self._values = {**installed.values, "worker": str(self._rig.command)}

    def close(self) -> None:
        """Stop the adapter and all that came from it, and delete the worker."""
        try:
            super().close()
        finally:
            if self._rig is not None:
                self._rig.close()

    def restart(self) -> None:
        """Take a fresh process for the next case."""
        super().close()

    def _chosen(self, target: Target) -> Command:
        if target.parent is None:
            raise StartError(f"{target.file}: the target has no [parent]")
        return target.parent
