"""Limits on the memory and time of an answer from Neo4j, enforced while receiving the answer.

The driver reads an entire row before it returns or checks anything, and a row can hold any number
of values. So the limits are enforced where the driver receives bytes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import Any

from starcast.stores.graph.driver import neo4j
from starcast.support.errors import LimitError
from starcast.support.limited import MB

#: Maximum memory, in bytes, of an answer to a statement with a row limit. The maximum is the larger
#: of `_ANSWER_MEMORY` and the row limit times `_ROW_MEMORY`.
_ANSWER_MEMORY = 200 * MB
_ROW_MEMORY = 2_000
#: Bytes that begin a string, byte array, list, map, structure or short integer in the Bolt
#: protocol. Each is counted as a Python object of `_OBJECT_MEMORY` bytes, and every other byte as a
#: number in a list, which takes `_BYTE_MEMORY` bytes.
_MARKERS = bytes((*range(0x80, 0xC0), 0xC8, 0xC9, *range(0xCC, 0xDB)))
_OBJECT_MEMORY = 72
_BYTE_MEMORY = 8
#: Length in bytes of the header before each part of an answer. Headers are not counted as memory.
_HEADER = 2
#: Seconds that the server has, after the time limit, to stop a statement. The server's parser
#: ignores the time limit; if the parser's stack overflows, the server never answers.
_GRACE_SECONDS = 5.0


@dataclass
class _Answer:
    """The limits of the answer that the current thread receives; None means no limit.

    Attributes:
        memory: bytes of memory that the part of the answer not yet received may use.
        patience: seconds to wait for the next part of the answer.
    """

    memory: int | None = None
    patience: float | None = None


_ANSWER: ContextVar[_Answer] = ContextVar("answer", default=_Answer())  # noqa: B039 - unlimited


class LimitedSocket:
    """The driver's socket, wrapped to raise an error when an answer exceeds its limits.

    Args:
        socket: the driver's socket.
    """

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._patience: float | None = socket.get_read_timeout()
        self._answer = _ANSWER.get()

    def recv_into(self, buffer: memoryview, size: int) -> int:
        """Receive at most ``size`` bytes into a buffer, and return the number of received bytes.

        Raises:
            OSError: the answer exceeds a limit; the driver then closes the connection.
        """
        answer = _ANSWER.get()
        if answer is not self._answer:
            # The timeout is set once per answer, because setting it is a system call, and an answer
            # has several parts per row.
            limits = (answer.patience, self._patience)
            self._socket.set_read_timeout(min(filter(None, limits), default=None))
            self._answer = answer
        received: int = self._socket.recv_into(buffer, size)
        if answer.memory is not None and received > _HEADER:
            others = len(bytes(buffer[:received]).translate(None, delete=_MARKERS))
            answer.memory -= _OBJECT_MEMORY * (received - others) + _BYTE_MEMORY * others
            if answer.memory < 0:
                raise OSError("the answer is too large")
        return received


@contextmanager
def limit_answer(row_limit: int | None, timeout: float | None) -> Iterator[None]:
    """Limit the memory and time of the answer that is received in this context.

    Args:
        row_limit: maximum number of rows, which determines the memory limit; None for no limit.
        timeout: time limit of the statement in seconds; None for no limit.

    Raises:
        LimitError: the answer exceeds a limit.
    """
    memory = None if row_limit is None else max(_ANSWER_MEMORY, _ROW_MEMORY * row_limit)
    patience = None if timeout is None else timeout + _GRACE_SECONDS
    answer = _Answer(memory, patience)
    begin = monotonic()
    token = _ANSWER.set(answer)
    try:
        yield
    except neo4j.exceptions.DriverError:
        if memory is not None and answer.memory is not None and answer.memory < 0:
            raise LimitError(
                f"the result would take more than {memory // MB:,} MB of memory",
                hint="return fewer values in each row, or lower the row limit",
            ) from None
        if patience is not None and monotonic() - begin >= patience:
            raise describe_timeout(timeout) from None
        raise
    finally:
        _ANSWER.reset(token)


def describe_timeout(timeout: float | None, text: str = "") -> LimitError:
    """Return the error for a statement that was stopped.

    Args:
        timeout: the statement's time limit in seconds; None if it had no limit.
        text: the server's reason, which the message quotes if there was no time limit.
    """
    message = f"the server stopped the statement: {text}"
    if timeout is not None:
        message = f"the statement took longer than {timeout:g} s and was stopped"
    return LimitError(
        message,
        hint="let the statement match less data (one topology, one forest, shorter paths, LIMIT), "
        "or raise STARCAST_TIMEOUT",
    )
