"""The server role: cases put to a server by tool calls, one connection for many cases."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Self

from codemode_conformance.failures import ClaimError, ConformanceError, StartError
from codemode_conformance.identity import Identity, identity_of, reconcile
from codemode_conformance.observation import Fault, Observation
from codemode_conformance.server import stand_in
from codemode_conformance.server.client import ClientTrial, told
from codemode_conformance.server.connection import Connection
from codemode_conformance.server.pace import Pace
from codemode_conformance.server.trial import Trial
from codemode_conformance.trial import Attempt

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from codemode_spec import Case

    from codemode_conformance.install import Installed
    from codemode_conformance.process import Caps
    from codemode_conformance.target import Server
    from codemode_conformance.transcript import Transcript


class ServerRole:
    """A target's server, started when needed; use as a context manager, or call `close`.

    `starts` counts the connections so far, `left` the command lines of what ran on when a server
    had exited. It has an event loop of its own, which runs only while a method of it does. Not to
    be shared between threads.
    """

    def __init__(
        self,
        installed: Installed,
        caps: Caps | None = None,
        transcript: Transcript | None = None,
    ) -> None:
        server = installed.target.server
        if server is None:
            raise StartError(f"{installed.target.file}: the target has no [server]")
        if server.operations == "upstream":
            raise StartError(f"{installed.target.file}: operations = upstream is not built yet")
        self.starts = 0
        self.traces = False
        self.left: Counter[str] = Counter()
        self._installed = installed
        self._server: Server = server
        self._caps = caps
        self._transcript = transcript
        self._pace = Pace(server.rate_limit)
        self._connection: Connection | None = None
        self._identity: Identity | None = None
        self._runner: asyncio.Runner | None = None

    def __enter__(self) -> Self:
        """The role itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    @property
    def effective(self) -> Mapping[str, Any]:
        """The policy that the target file says the server has."""
        effective: Mapping[str, Any] = self._server.identity.get("effective", {})
        return effective

    def start(self) -> Identity:
        """Connect unless connected, and return who the server is by its target file.

        StartError, ClaimError.
        """
        if self._identity is None:
            self._identity = self._claimed()
        if self._connection is None:
            self._runner = self._runner or asyncio.Runner()
            self.starts += 1
            self._connection = self._runner.run(self._connect())
        return self._identity

    def run(self, case: Case) -> Attempt:
        """Put one case to the server. Whatever goes wrong is part of the observation.

        Only the very first start raises, StartError or ClaimError.
        """
        try:
            identity = self.start()
        except ConformanceError as error:
            if self.starts <= 1:
                raise
            fault = Fault("surroundings", f"it could not be started again: {error}")
            return Attempt(Observation(case.id, fault=fault), None, spoiled=True)
        if "client" in case.data:
            scripted = ClientTrial(self._installed, self._server, identity, case, self._transcript)
            attempt = scripted.perform()
            self.left += scripted.left
            return attempt
        connection = self._connection
        assert connection is not None
        assert self._runner is not None
        trial = Trial(connection, self._server, identity, case, self._pace)
        attempt = self._runner.run(trial.perform())
        enough = self._server.restart_every and connection.calls >= self._server.restart_every
        if attempt.spoiled or connection.gone is not None or enough:
            self.restart()
        return attempt

    def restart(self) -> None:
        """Take a fresh connection, and process, for the next case."""
        connection, self._connection = self._connection, None
        if connection is not None and self._runner is not None:
            self._runner.run(connection.stop())
            self.left += connection.left

    def close(self) -> None:
        """End the server and all that came from it."""
        try:
            self.restart()
        finally:
            runner, self._runner = self._runner, None
            if runner is not None:
                runner.close()

    async def _connect(self) -> Connection:
        connection = Connection(self._server, self._installed.values, self._caps, self._transcript)
        await connection.open()
        return connection

    def _claimed(self) -> Identity:
        target, server = self._installed.target, self._server
        data = dict(server.identity)
        data["capabilities"] = [
            *data["capabilities"],
            *(stand_in.capabilities(server.stand_in) if server.operations == "stand_in" else ()),
            *told(server),
        ]
        identity = identity_of({**data, "target": target.name, "version": target.version})
        for option, argument in (
            ("options.timeout", "options.timeout_ms"),
            ("options.readonly", "options.readonly"),
        ):
            if option in identity.capabilities and argument not in server.arguments:
                raise ClaimError(f"{target.file}: {option} is claimed, but {argument} has no name")
        reconcile(target, identity)
        return identity
