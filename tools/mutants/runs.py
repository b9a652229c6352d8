"""Run tests on mutants, in copies of HEAD that have their own servers.

The module is also a pytest plug-in, whose hooks select the tests and report the results.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from tools.mutants.mutations import ROOT, Mutation

#: Test folders whose tests need no servers.
WITHOUT_SERVERS = ("tests/unit/", "tests/claims/")
#: Environment variables of test processes. The first has the path of the copy's folder. The second
#: has the same value, and marks the processes that `Copy.end_processes` kills.
FOLDER = "MUTANTS_FOLDER"
MARK = "MUTANTS_RUN"


# The hook runs last, after the hook that samples the cases for `make test`.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Drop and sort tests as the file ``selection.json`` specifies (a pytest hook)."""
    selection = json.loads((Path(os.environ[FOLDER]) / "selection.json").read_text())
    ranks = {name: rank for rank, name in enumerate(selection["first"])}

    def rank(item: pytest.Item) -> int:
        default = len(ranks)
        return min(ranks.get(item.nodeid, default), ranks.get(function_of(item.nodeid), default))

    dropped = set(selection["dropped"])
    kept = [item for item in items if item.nodeid not in dropped]
    if selection["only"]:
        kept = [item for item in kept if rank(item) < len(ranks)]
    items[:] = sorted(kept, key=rank)


def pytest_runtest_logstart(nodeid: str) -> None:
    """Report that a test starts, so that it counts as failed if the process is then killed."""
    _report(nodeid, 0, is_failed=False)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Report the duration and result of one phase of a test."""
    _report(report.nodeid, report.duration, is_failed=report.failed)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Report a module that cannot be imported."""
    if report.failed:
        _report(report.nodeid, 0, is_failed=True)


def _report(test: str, seconds: float, *, is_failed: bool) -> None:
    with (Path(os.environ[FOLDER]) / "report.jsonl").open("a", encoding="utf-8") as file:
        print(json.dumps([test, seconds, is_failed]), file=file)


def function_of(test: str) -> str:
    """Return the id of a test without its parameters."""
    return test.partition("[")[0]


def module_of(test: str) -> str:
    """Return the path of the module that contains a test."""
    return test.partition("::")[0]


class Run(NamedTuple):
    """The outcome of one or more pytest processes.

    Attributes:
        result: "failure", "time-out", or "" if no test failed.
        failed: the ids of failed tests. After a crash or a time-out without a failed test, the only
            entry is the test that ran last, or "" if no test ran.
        seconds: the duration of each test, by id.
    """

    result: str
    failed: list[str]
    seconds: dict[str, float]


class Copy:
    """A copy of HEAD with its own servers, which runs one pytest process at a time."""

    #: Once this event is set, no copy starts a process.
    stopping = threading.Event()

    def __init__(self, folder: Path, commit: str) -> None:
        # The folder is readable for all users, because root runs the servers as another user.
        folder.mkdir(mode=0o755)
        self.folder = folder
        self.root = folder / "copy"
        self.home = folder / "home"
        subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, self.root], check=True)
        self._git("checkout", "--quiet", "--detach", commit)
        self._environment = os.environ | {
            "PYTHONPATH": str(self.root / "service"),
            "COVERAGE_FILE": str(folder / "coverage"),
            FOLDER: str(folder),
        }
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(
        self,
        modules: Iterable[str],
        options: Sequence[str],
        *,
        mutation: Mutation | None = None,
        first: Iterable[str] = (),
        only: bool = False,
        dropped: Iterable[str] = (),
        limit: float = math.inf,
    ) -> Run:
        """Run tests, with or without a mutation, after starting the servers if they are needed.

        Args:
            modules: paths of test modules or folders.
            options: further options of pytest.
            mutation: the mutation applied during the run.
            first: the tests or test functions that run first, in this order.
            only: whether only the tests in ``first`` run.
            dropped: tests that do not run.
            limit: time limit in seconds.

        Raises:
            InterruptedError: `stopping` is set.
        """
        modules = list(modules)
        needs_servers = not all(f"{module}/".startswith(WITHOUT_SERVERS) for module in modules)
        if needs_servers:
            self._start_servers()
        selection = {"first": list(first), "only": only, "dropped": list(dropped)}
        (self.folder / "selection.json").write_text(json.dumps(selection))
        (self.folder / "report.jsonl").write_text("")
        (self.folder / "modules").write_text("\n".join(modules))
        command = [sys.executable, "-m", "pytest", "-q", "-p", __name__, *options]
        command += ["-p", "no:cacheprovider", f"--basetemp={self.folder / 't'}"]
        command.append(f"@{self.folder / 'modules'}")
        if mutation:
            self._mutate(mutation)
        code = self._wait_for(command, limit)
        self.restore()
        if code is None and needs_servers:
            self.remove_servers()
        return self._read_report(code)

    def _wait_for(self, command: list[str], limit: float) -> int | None:
        """Run a command; return its exit code, or None if it does not end within the limit."""
        if self.stopping.is_set():
            raise InterruptedError
        marks = {MARK: str(self.folder), "STARCAST_TEST_HOME": str(self.home)}
        with (self.folder / "output").open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=self._environment | marks,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            # If a mutant exhausts the memory, the kernel should kill this process first.
            with suppress(OSError):
                Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
            deadline = time.monotonic() + limit
            while (code := process.poll()) is None and not self.stopping.is_set():
                if time.monotonic() > deadline:
                    break
                time.sleep(0.1)
        self.end_processes()
        process.wait()
        if self.stopping.is_set():
            raise InterruptedError
        return code

    def _read_report(self, code: int | None) -> Run:
        run = Run("time-out" if code is None else "failure", [], {})
        test = ""
        for line in (self.folder / "report.jsonl").read_text().splitlines():
            test, seconds, is_failed = json.loads(line)
            run.seconds[test] = run.seconds.get(test, 0) + seconds
            run.failed.extend([test] if is_failed else [])
        if code in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            return run._replace(result="")
        return run if run.failed else run._replace(failed=[test])

    def end_processes(self) -> None:
        """Kill all processes of the copy's test runs.

        The processes are recognized by an environment variable or by their working directory.
        """
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                is_marked = process.environ().get(MARK) == str(self.folder)
                if is_marked or process.cwd().startswith(f"{self.folder}/t/"):
                    process.kill()

    def _start_servers(self) -> None:
        """Start the servers that are not running; if the start fails, recreate all servers."""
        if self._starcast("up"):
            self.remove_servers()
            if self._starcast("up"):
                raise SystemExit((self.folder / "servers").read_text())

    def remove_servers(self) -> None:
        """Stop the servers and delete their data."""
        if not self.home.exists():
            return
        self._starcast("down")
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.cwd().startswith(f"{self.home}/"):
                    process.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def _starcast(self, command: str) -> int:
        with (self.folder / "servers").open("wb") as output:
            return subprocess.run(
                [sys.executable, "-m", "starcast.cli.app", command],
                cwd=self.folder,
                env=self._environment | {"STARCAST_HOME": str(self.home)},
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode

    def _mutate(self, mutation: Mutation) -> None:
        path = self.root / mutation.file
        path.write_bytes(mutation.apply(path.read_bytes()))
        # Python recognizes a changed module by its size and modification time in seconds. Two
        # mutants could have the same size and time, so each mutant gets a different time.
        moment = 10**9 + mutation.begin
        os.utime(path, (moment, moment))

    def restore(self) -> None:
        """Undo the mutation and delete everything that tests wrote, such as Hypothesis examples."""
        shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)
        self._git("checkout", "--quiet", "--force", "--", ".")
        self._git("clean", "-fdq")

    def _git(self, *words: str) -> None:
        subprocess.run(["git", "-C", self.root, *words], check=True)
