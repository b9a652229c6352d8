"""A proxy that simulates a silent server: connections stay open, but nothing is forwarded."""

import selectors
import socket
import threading
import time


class SilentProxy:
    """A TCP proxy on the loopback interface.

    Attributes:
        frozen: whether forwarding is suspended, although connections are still accepted.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.frozen = False
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._running = True
        self._thread = threading.Thread(target=self._forward)
        self._thread.start()

    def close(self) -> None:
        """Close all connections."""
        self._running = False
        self._thread.join()
        for each in (*self._pairs, self._listener):
            each.close()

    def _forward(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            while self._running:
                for key, _ in selector.select(0.05):
                    self._handle(selector, key.fileobj)

    def _handle(self, selector: selectors.BaseSelector, ready: object) -> None:
        if ready is self._listener:
            client, _ = self._listener.accept()
            server = socket.create_connection(self._target)
            self._pairs |= {client: server, server: client}
            for each in (client, server):
                selector.register(each, selectors.EVENT_READ)
            return
        assert isinstance(ready, socket.socket)
        if self.frozen:
            time.sleep(0.01)
            return
        try:
            data = ready.recv(65_536)
            self._pairs[ready].sendall(data)
        except OSError:
            data = b""
        if not data:
            selector.unregister(ready)
            ready.shutdown(socket.SHUT_RDWR) if ready.fileno() >= 0 else None
