"""The time of one invocation that counts against its deadline, without a clock of its own."""

from __future__ import annotations


class Clock:
    """Seconds of `now` come in, milliseconds that count come out.

    Time counts from `start` on. Where waiting for the host is `excluded` it stands still between
    `wait` and `go_on`.
    """

    def __init__(self, *, excluded: bool) -> None:
        self._excluded = excluded
        self._started: float | None = None
        self._waited = 0.0
        self._since: float | None = None

    @property
    def started(self) -> bool:
        """Whether it runs, or stands still between."""
        return self._started is not None

    @property
    def stands(self) -> bool:
        """Whether it stands still."""
        return self._since is not None

    def start(self, now: float) -> None:
        """The `execute` frame was handed over."""
        self._started = now

    def wait(self, now: float) -> None:
        """The program waits for the host from now on."""
        if self._excluded and self._since is None:
            self._since = now

    def go_on(self, now: float) -> None:
        """The program has its reply."""
        if self._since is not None:
            self._waited += now - self._since
            self._since = None

    def elapsed_ms(self, now: float) -> float:
        """What counts until now."""
        if self._started is None:
            return 0.0
        until = now if self._since is None else self._since
        return (until - self._started - self._waited) * 1000
