"""A proxy that breaks connections on purpose."""

from __future__ import annotations

import os
import socket
import threading
from types import TracebackType
from urllib.parse import urlsplit

from carrel import Carrel


class CuttingProxy:
    """Forwards to the server. Before a word of `cut_at` would reach the client the connection is cut, once for each word."""

    def __init__(self) -> None:
        server = urlsplit(os.environ["CARREL_URL"])
        self._target = (server.hostname or "", server.port or 80)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.cut_at: list[bytes] = []
        self.cuts = 0
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []

    def client(self) -> Carrel:
        # A server answers its own names only, and a proxy on another port has another one.
        return Carrel(f"http://127.0.0.1:{self._listener.getsockname()[1]}", os.environ["CARREL_TOKEN"])

    def __enter__(self) -> CuttingProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for each in [self._listener, *self._open]:
            end(each)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            self._open += [client, server]
            threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        before = b""
        try:
            while chunk := source.recv(65536):
                if answers and self._cuts(before, chunk):
                    break
                before = (before + chunk)[-64:]
                sink.sendall(chunk)
        except OSError:
            pass
        for each in (source, sink):
            end(each)

    def _cuts(self, before: bytes, chunk: bytes) -> bool:
        """Also where a word began in the piece before."""
        with self._lock:
            for word in self.cut_at:
                if word in before[1 - len(word) :] + chunk:
                    self.cut_at.remove(word)
                    self.cuts += 1
                    return True
        return False


def end(each: socket.socket) -> None:
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    each.close()
