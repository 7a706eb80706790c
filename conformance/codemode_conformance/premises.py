"""What one process of a target gets to live in: a folder, an environment, and planted secrets."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from codemode_conformance import environment
from codemode_conformance.canary import Search, plant
from codemode_conformance.listener import Listener
from codemode_conformance.observation import CanaryHit
from codemode_conformance.process import Process
from codemode_conformance.target import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_conformance.process import Caps
    from codemode_conformance.target import Command
    from codemode_conformance.tracing.tracer import Tracer

MEBIBYTE = 1 << 20


class Premises:
    """A fresh folder with secrets for one process; call `close` when that process has ended.

    `values` fill the placeholders of its command; `tmp` is added.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self.listener = Listener()
        self.folder = Path(tempfile.mkdtemp(prefix="cmconf-")).resolve()
        self.temporary = self.folder / "tmp"
        secret_folder = self.folder / secrets.token_hex(4)
        for folder in (secret_folder, self.temporary):
            folder.mkdir()
        self.values = {**values, "tmp": str(self.temporary)}
        self.canaries = plant(secret_folder, self.listener.url)
        self.listener.body = self.canaries.value("url")
        self.search = Search(
            self.canaries, [values[name] for name in ("here", "cache") if values.get(name)]
        )
        self._hits: list[CanaryHit] = []
        self._errors_tail = b""

    def launch(
        self,
        command: Command,
        key: str,
        caps: Caps | None = None,
        kind: type[Process] = Process,
        tracer: Tracer | None = None,
    ) -> Process:
        """Start the command here, to be followed by `tracer`; StartError when it cannot be."""
        extra = {
            name: expand(text, self.values, f"env.{name}") for name, text in command.env.items()
        }
        env = environment.for_run(self.temporary, extra)
        env[self.canaries.variable] = self.canaries.value("env")
        words = [expand(word, self.values, "command") for word in command.words]
        process = kind(
            words if tracer is None else tracer.naming(words),
            env=env,
            folder=self.temporary,
            key=key,
            memory_bytes=command.memory_mib * MEBIBYTE,
            marker=self.canaries.variable,
            caps=caps,
            scan=lambda data: self.note("stdout", data),
            overlap=self.search.overlap,
        )
        if tracer is not None:
            # At once: it may make itself one that cannot be traced, and so may what it starts.
            tracer.seize(process.pid)
        return process

    def find(self, text: str) -> list[tuple[str, str]]:
        """The secrets of this process and paths of the host in some text, as (name, form)."""
        return self.search.find(text) + self.search.find_places(text)

    def note(self, where: str, data: bytes) -> None:
        """Look for secrets in bytes that came outside of messages."""
        for name, form in self.search.find(data):
            hit = CanaryHit(name, form, where)
            if hit not in self._hits:
                self._hits.append(hit)

    def note_errors(self, data: bytes) -> None:
        """Look for secrets in the next bytes of stderr."""
        self.note("stderr", self._errors_tail + data)
        self._errors_tail = (self._errors_tail + data)[-self.search.overlap :]

    def take_hits(self) -> list[CanaryHit]:
        """Secrets that came outside of messages since the last call."""
        hits, self._hits = self._hits, []
        connections, requests = self.listener.take()
        if requests:
            hits.append(CanaryHit("url", "request", "listener"))
        elif connections:
            hits.append(CanaryHit("url", "connection", "port"))
        return list(dict.fromkeys(hits))

    def close(self) -> None:
        """Stop listening and delete the folder. May be called again."""
        self.listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)
