"""The command ``starcast serve``: its address, its shutdown, and errors at startup."""

import json
import os
import re
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

from support.fix_cli import Starcast


@contextmanager
def served(home: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the server; yield the process, and its address without a final slash."""
    command = [sys.executable, "-m", "starcast.cli.app", "--home", str(home), "serve", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = []
            for line in process.stderr:
                lines.append(line)
                if match := re.match(r"serving on (http://\S+);", line):
                    yield process, match[1]
                    return
            pytest.fail(f"the server did not start: {''.join(lines)}")
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
    """The exit code is 130, stderr has one word, and the worker processes end too."""
    with served(tmp_path, "--port", "0") as (process, address):
        assert json.loads(fetch(f"{address}/api/v1/topologies/S3"))["node_count"] == 6
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
        result = starcast(f"serve --port {port}")
    assert result.code == 4
    assert result.err.startswith(
        f"error: another program uses the port {port} on 127.0.0.1\nhint: "
    )


def test_an_address_of_another_machine_is_refused(starcast: Starcast) -> None:
    result = starcast("serve --host 192.0.2.1 --port 0")
    assert result.code == 2
    assert "'192.0.2.1' is not an address of this machine" in result.err


def test_a_host_that_other_machines_can_reach_causes_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "starcast.cli.app", "--home", str(tmp_path)]
    with subprocess.Popen(
        [*command, "serve", "--host", "0.0.0.0", "--port", "0"],  # noqa: S104
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert "other machines can reach this server" in process.stderr.readline()
        process.kill()


def test_a_missing_extra_is_reported_in_one_sentence(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "uvicorn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "starcast.web.serving", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = starcast("serve --port 0")
    assert result.code == 4
    assert result.err == (
        "error: the pages need uvicorn, which is not installed\n"
        "hint: install it with: pip install 'starcast[web]'\n"
    )


@pytest.mark.slow
def test_other_commands_do_not_import_the_server() -> None:
    code = """
import sys
import starcast.cli.app, starcast.lab
print({"fastapi", "uvicorn"} & set(sys.modules))
"""
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert output.stdout == "set()\n"
