"""A TCP proxy on the loopback interface with faults: delayed, cut, garbled, silent connections."""

import socket
import struct
import threading
import time
from contextlib import suppress
from typing import Literal, get_args

Fault = Literal["delay", "cut", "reset", "garble", "stall", "refuse"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
_CHUNK = 16_384


class Proxy:
    """A proxy that relays connections to a server and has a fault after a number of bytes.

    Args:
        port: the port of the server.
        fault: the kind of fault, if any.
        after: number of bytes from the server, over all connections, after which the fault occurs.
        seconds: duration of a delay of each chunk, or of a stall.
        forever: repeat the fault on all other connections, and refuse new ones.

    Attributes:
        port: the port to connect to.
        is_faulty: whether the fault has occurred.
        is_silent: whether nothing is forwarded, although connections stay open and are accepted.
    """

    def __init__(
        self,
        port: int,
        fault: Fault | None = None,
        after: int = 0,
        seconds: float = 0.0,
        *,
        forever: bool = False,
    ) -> None:
        self._target = ("127.0.0.1", port)
        self._fault = fault
        self._after = after
        self._seconds = seconds
        self._forever = forever
        self._seen = 0
        self.is_faulty = self.is_silent = False
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Stop listening and close all connections."""
        self.is_silent = False
        _close(self._server)
        self.cut()

    def cut(self) -> None:
        """Close all connections, but accept new ones."""
        for connection in self._open:
            _close(connection)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                refuses = self._forever or self._fault == "refuse"
                if refuses and self._seen >= self._after:
                    near.close()
                    continue
                far = socket.create_connection(self._target)
                self._open += [near, far]
                for source, sink, from_server in ((near, far, False), (far, near, True)):
                    arguments = (source, sink, from_server)
                    threading.Thread(target=self._relay, args=arguments, daemon=True).start()

    def _relay(self, source: socket.socket, sink: socket.socket, from_server: bool) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                while self.is_silent:
                    time.sleep(0.01)
                sink.sendall(self._change(data) if from_server else data)
        for connection in (source, sink):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _change(self, data: bytes) -> bytes:
        """Return the data to forward; raise an OSError to close the connection."""
        with self._lock:
            start = self._seen
            self._seen += len(data)
            is_first = not self.is_faulty and self._seen > self._after
            self.is_faulty = self.is_faulty or is_first
        if self._fault == "delay" and self._seen > self._after:
            time.sleep(self._seconds)
        if not is_first and not (self._forever and self.is_faulty):
            return data
        place = max(0, min(self._after - start, len(data) - 1))
        match self._fault:
            case "stall":
                time.sleep(self._seconds)
            case "garble":
                return data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
            case "cut":
                raise OSError("cut")
            case "reset":
                for connection in self._open:
                    linger = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    # Wake the threads: the kernel sends a reset only if none is waiting for data.
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RD)
                    connection.close()
                raise OSError("reset")
        return data


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
