"""An executor on an existing Dask cluster (https://distributed.dask.org).

Dask itself runs the tasks of a killed worker again, up to three times. Every task carries the
versions of the client's code. Workers with different versions refuse the task, even if they join
the cluster later. A task also carries a function that prepares each worker process once, for
example by loading plug-ins.
"""

import logging
import math
import platform
import re
import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from starcast.support.errors import InputError, RejectedError, UnavailableError
from starcast.support.installation import install_command, source_digest
from starcast.support.parallel import WorkerKilledError

if TYPE_CHECKING:
    from distributed import Client

#: Seconds to wait for the scheduler, and for its first worker.
PATIENCE = 10
#: Seconds for which a cluster may have no workers while work is running.
LOST_PATIENCE = 60.0
_COUNT_INTERVAL = 2.0
_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[\w.-]+):(\d{1,5})", re.ASCII)
#: Format of the first bytes from a Dask server: the length of its greeting, which is always below
#: `_MAX_GREETING`.
_LENGTH = struct.Struct("Q")
_MAX_GREETING = 2**20
#: The versions of the software on which results depend, by name.
Identity = dict[str, str]


@contextmanager
def connect(address: str, prepare: Callable[[], object] | None = None) -> Iterator["DaskExecutor"]:
    """Open an executor on the cluster of a Dask scheduler.

    Args:
        address: address of the scheduler, such as ``tcp://127.0.0.1:8786``.
        prepare: function that every worker process calls once before its first task (default:
            none); it must be picklable.

    Raises:
        InputError: the address is invalid, or Dask is not installed.
        UnavailableError: no scheduler answers at the address, or the scheduler has no workers.
        RejectedError: starcast cannot be imported on a worker; or a worker has other source files
            of starcast, or another version of starcast, Python, numpy or Dask, than this process.
    """
    parsed = _ADDRESS.fullmatch(address)
    if parsed is None or not 0 < int(parsed[3]) < 65536:
        raise InputError(
            f"'{address}' is not the address of a Dask scheduler",
            hint="write tcp://HOST:PORT; a scheduler prints its address when it starts",
        )
    _check_listener(address, parsed[2].strip("[]"), int(parsed[3]), is_tls=parsed[1] == "tls")
    client = _open_client(address)
    try:
        _check_workers(client, address)
        executor = DaskExecutor(client, address, prepare)
        try:
            yield executor
        finally:
            executor.cancel()
    finally:
        client.close(timeout=PATIENCE)


def code_identity() -> Identity:
    """Return the software versions that must be the same for the client and all workers."""
    return {
        "starcast": version("starcast"),
        "sources": source_digest()[:12],
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "distributed": version("distributed"),
    }


class DaskExecutor(Executor):
    """An executor whose tasks run on the workers of a Dask cluster; see `connect`."""

    is_remote = True

    def __init__(
        self, client: "Client", address: str, prepare: Callable[[], object] | None
    ) -> None:
        self._client = client
        self._address = address
        self._prepare = prepare
        self._identity = code_identity()
        self._running: set[Any] = set()
        self._slots = 0
        self._counted = self._last_seen = -math.inf

    @property
    def slots(self) -> int:
        """The total number of threads on all workers (at least 1), updated every few seconds.

        Raises:
            UnavailableError: the cluster has had no workers for `LOST_PATIENCE` seconds.
        """
        now = monotonic()
        if now - self._counted > _COUNT_INTERVAL:
            self._slots = sum(self._client.nthreads().values())
            self._counted = now
        if self._slots:
            self._last_seen = now
        elif now - self._last_seen > LOST_PATIENCE:
            raise UnavailableError(
                f"the Dask scheduler at {self._address} has had no workers for"
                f" {LOST_PATIENCE:.0f} s",
                hint="start workers, then repeat the command; finished results are kept",
            )
        return max(1, self._slots)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a function call to the cluster; see `concurrent.futures.Executor.submit`."""
        future: Future[Any] = Future()
        # Without `pure=False`, Dask would return the earlier result for equal arguments.
        task = self._client.submit(
            _run, self._identity, self._prepare, function, args, kwargs, pure=False
        )
        self._running.add(task)
        # `_finish` runs in the client's event loop, where results that are ready at the same time
        # are fetched with a single request.
        self._client.loop.add_callback(self._finish, task, future)
        return future

    @staticmethod
    def memory_limit() -> int:
        """Return the number of bytes that the worker on which this function runs may still use."""
        # The packages are imported here, because only workers need them.
        import psutil  # noqa: PLC0415
        from distributed import get_worker  # noqa: PLC0415

        limit = get_worker().memory_manager.memory_limit
        used = psutil.Process().memory_info().rss
        return int(limit - used if limit else psutil.virtual_memory().available)

    def cancel(self) -> None:
        """Cancel all tasks that have not begun; discard the results of running tasks."""
        running, self._running = self._running, set()
        if running and self._client.status == "running":
            self._client.cancel(list(running), force=True)

    async def _finish(self, task: Any, future: Future[Any]) -> None:
        """Wait for a Dask task, and copy its result or error to the caller's future."""
        from distributed.scheduler import KilledWorker  # noqa: PLC0415

        result, error = None, None
        try:
            result = await task
        except BaseException as raised:  # noqa: BLE001 - an error of the task
            error = raised
        self._running.discard(task)
        if not future.set_running_or_notify_cancel():
            return
        if error is None:
            future.set_result(result)
        elif isinstance(error, KilledWorker):
            future.set_exception(WorkerKilledError(error.allowed_failures + 1))
        # A task with the status "finished" has an error here only if its result was lost.
        elif task.status in ("error", "finished"):
            future.set_exception(error)
        else:
            future.set_exception(
                UnavailableError(
                    f"the connection to the Dask scheduler at {self._address} was lost",
                    hint="check whether the scheduler is running; finished results are kept",
                )
            )


def _check_listener(address: str, host: str, port: int, *, is_tls: bool) -> None:
    """Check that a Dask scheduler listens at an address.

    A scheduler begins every connection with the length of its greeting. Without this check, Dask's
    client would wait forever if another server accepts the connection but sends nothing. With TLS,
    the greeting is encrypted, so only the connection is checked.
    """
    try:
        with socket.create_connection((host, port), timeout=PATIENCE) as connection:
            # Without the flag MSG_WAITALL, `recv` may return before all bytes have arrived.
            greeting = b"" if is_tls else connection.recv(_LENGTH.size, socket.MSG_WAITALL)
    except (OSError, UnicodeError):  # a name with an empty part raises a UnicodeError
        raise _no_scheduler(address) from None
    if not is_tls and (
        len(greeting) < _LENGTH.size or not 0 < _LENGTH.unpack(greeting)[0] < _MAX_GREETING
    ):
        raise _no_scheduler(address)


def _no_scheduler(address: str) -> UnavailableError:
    return UnavailableError(
        f"no Dask scheduler answers at {address}",
        hint="start one with 'dask scheduler', and use the address that it prints",
    )


def _open_client(address: str) -> "Client":
    try:
        import dask  # noqa: PLC0415
        from distributed import Client  # noqa: PLC0415
    except ImportError:
        raise InputError(
            "Dask is not installed", hint=f"run {install_command('dask')}, or omit `executor`"
        ) from None
    # Silence Dask's loggers, because starcast reports these problems as its own errors.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    dask.config.set({"distributed.comm.timeouts.connect": f"{PATIENCE}s"})
    try:
        # A default client would also send the calling program's own computations to this cluster.
        return Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError, EOFError):
        raise _no_scheduler(address) from None


def _check_workers(client: "Client", address: str) -> None:
    """Check that the cluster has workers, all with the same software versions as the client."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise UnavailableError(
            f"the Dask scheduler at {address} has no workers",
            hint=f"start one with 'dask worker {address} --nthreads 1'",
        ) from None
    expected = code_identity()
    for worker, found in client.run(code_identity, on_error="return").items():
        if isinstance(found, BaseException):
            raise RejectedError(
                f"starcast cannot be imported on the Dask worker {worker}: {found}",
                hint="install the same version of starcast, with the extra dask, for the workers",
            )
        _compare(expected, found, worker)


def _compare(expected: Identity, found: Identity, worker: str) -> None:
    """Check that a worker has the expected versions of the software.

    Raises:
        RejectedError: a version on the worker differs from the expected version.
    """
    for name, value in expected.items():
        if found.get(name) != value:
            what = (
                "different source files of starcast"
                if name == "sources"
                else f"{name} {found.get(name)}"
            )
            own = "" if name == "sources" else f", not {value}"
            raise RejectedError(
                f"the Dask worker {worker} has {what}{own}",
                hint="install the same versions for the workers, and restart them",
            )


def _run(
    identity: Identity,
    prepare: Callable[[], object] | None,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Run a function in a worker, after checking the worker's code and preparing its process."""
    from distributed import get_worker  # noqa: PLC0415

    _compare(identity, _own_identity(), get_worker().address)
    if prepare is not None:
        _prepare_once(prepare)
    return function(*args, **kwargs)


#: Function that returns the software versions of this worker. The result is cached, because
#: reading the versions takes 2 ms.
_own_identity = cache(code_identity)


@cache
def _prepare_once(prepare: Callable[[], object]) -> None:
    prepare()
