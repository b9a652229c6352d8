"""The command ``starcast serve``: its address, its shutdown, and errors at startup."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from support.fix_cli import COMMAND, Starcast, refused


@contextmanager
def started(home: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the server on a free port; yield the process, and the first line of its stderr."""
    command = [*COMMAND, "--home", str(home), "serve", "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process, process.stderr.readline()
        finally:
            process.kill()


def fetch(url: str) -> bytes:
    """Return the content of a URL of this machine, without a proxy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=30) as response:
        content: bytes = response.read()
        return content


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_answers_until_it_is_interrupted(tmp_path: Path, number: int) -> None:
    """After SIGINT or SIGTERM, the exit code is 130, and all worker processes end.

    The last line on stderr is ``interrupted``.
    """
    with started(tmp_path) as (process, line):
        address = line.removeprefix("serving on ").partition(";")[0]
        assert json.loads(fetch(f"{address}/api/v1/topologies/S3"))["nodes"] == 6
        assert b"--tree-1" in fetch(f"{address}/static/starcast.css")
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        process.send_signal(number)
        assert process.wait(timeout=20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == "interrupted\n"
        assert psutil.wait_procs(children, timeout=20)[1] == []


def test_the_error_for_a_port_in_use_names_the_port(starcast: Starcast) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        error, _ = refused(starcast(f"serve --port {port}"), 4)
    assert error == f"another program uses the port {port} on 127.0.0.1"


@pytest.mark.parametrize("host", ["192.0.2.1", "127.0..1"])
def test_serve_refuses_an_address_of_another_machine(starcast: Starcast, host: str) -> None:
    error, _ = refused(starcast(f"serve --host {host} --port 0"), 2)
    assert f"'{host}' is not an address of this machine" in error


def test_a_host_that_other_machines_can_reach_causes_a_warning(tmp_path: Path) -> None:
    with started(tmp_path, "--host", "0.0.0.0") as (_, line):  # noqa: S104
        assert "other machines can reach this server" in line


def test_serve_reports_a_missing_library_with_the_install_command(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "uvicorn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "starcast.web.serving", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert refused(starcast("serve --port 0"), 4) == (
        "the pages need uvicorn, which is not installed",
        "install it with: pip install 'fastapi>=0.136' 'uvicorn>=0.35'",
    )
