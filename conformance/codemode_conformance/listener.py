"""A listener on the loopback interface: whoever connects could reach a network."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
from typing import Final, Self

_READ_BYTES: Final = 4_096
_READ_SECONDS: Final = 1.0


class Listener:
    """Answers every request with `body` and counts; use as a context manager, or call `close`."""

    def __init__(self) -> None:
        self.body = ""
        self._path = "/" + secrets.token_hex(8)
        self._lock = threading.Lock()
        self._connections = 0
        self._requests = 0
        self._closed = False
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._address = self._socket.getsockname()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address; its path is random, so a scan of ports does not ask for it."""
        return f"http://127.0.0.1:{self._address[1]}{self._path}"

    def take(self) -> tuple[int, int]:
        """Connections, and requests for the path among them, since the last call."""
        with self._lock:
            taken = self._connections, self._requests
            self._connections = self._requests = 0
        return taken

    def close(self) -> None:
        """Stop listening. May be called again."""
        if self._closed:
            return
        self._closed = True
        # Closing a socket does not wake who waits on it everywhere; a connection does.
        with contextlib.suppress(OSError), socket.create_connection(self._address, _READ_SECONDS):
            pass
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        """The listener itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stops listening."""
        self.close()

    def _accept(self) -> None:
        while not self._closed:
            with contextlib.suppress(OSError):
                connection, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        if self._closed:
            connection.close()  # our own, from `close`
            return
        with self._lock:
            # The connection that `close` makes to wake the thread is our own.
            self._connections += not self._closed
        connection.settimeout(_READ_SECONDS)
        with connection, contextlib.suppress(OSError):
            if self._path.encode() in connection.recv(_READ_BYTES):
                with self._lock:
                    self._requests += 1
            body = self.body.encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode() + body)
