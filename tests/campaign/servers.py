"""The servers used by a campaign: running commands, and checking the stores' invariants."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import URL

from campaign.commands import finishing
from campaign.output import Done
from starcast.embedded.endpoints import graph_address, store_url
from starcast.ingest import Stores
from starcast.ingest.verification import verify
from starcast.stores import GraphAddress
from starcast.stores.database import repository, sessions
from starcast.stores.graph.connection import Graph
from starcast.support.errors import NotFoundError, StarcastError, UnavailableError
from starcast.support.installation import PREFIX
from starcast.support.settings import Settings
from support.checks import graph_states, states
from support.endpoints import endpoints
from support.fix_servers import without_password

#: Commands that store the baseline: data that every action must leave unchanged.
BASELINE = (
    ("ingest", "S4", "--trees", "greedy,multiple", "--schedules", "broadcast:multiple"),
    ("experiment", "run", "baseline", "--topology", "S4", "--algorithm", "multiple",
     "--algorithm", "greedy", "-m", "64", "-m", "1024", "--jobs", "1"),
)  # fmt: skip
_COMPLETE = "complete"
_BATCH = 1_000


@dataclass(frozen=True)
class Servers:
    """The Neo4j and PostgreSQL servers of a campaign, reached without a proxy.

    Attributes:
        address: address of Neo4j.
        url: URL of PostgreSQL.
        folder: a folder for files.
        home: the home folder of the embedded stack if the campaign owns it, else None.
    """

    address: GraphAddress
    url: URL
    folder: Path
    home: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of commands that use these servers."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        options = {
            name: os.environ[name]
            for name in (f"{PREFIX}NEO4J_JAVA_OPTIONS", f"{PREFIX}CACHE")
            if name in os.environ
        }
        kept |= options | {f"{PREFIX}CONFIG": os.devnull}
        if self.home is not None:
            return kept | {f"{PREFIX}HOME": str(self.home)}
        return kept | {f"{PREFIX}HOME": str(self.folder / "no-home")} | self.addresses()

    def addresses(
        self, neo4j_port: int | None = None, postgres_port: int | None = None
    ) -> dict[str, str]:
        """Return the settings that name the servers, optionally with the ports of a proxy."""
        url = self.url if postgres_port is None else self.url.set(port=postgres_port)
        uri = self.address.uri if neo4j_port is None else f"bolt://127.0.0.1:{neo4j_port}"
        return {
            f"{PREFIX}NEO4J_URI": uri,
            f"{PREFIX}NEO4J_PASSWORD_FILE": self._secret("neo4j", self.address.password),
            f"{PREFIX}POSTGRES_URI": without_password(url),
            f"{PREFIX}POSTGRES_PASSWORD_FILE": self._secret("postgres", str(url.password or "")),
        }

    def _secret(self, name: str, password: str) -> str:
        path = self.folder / f"{name}-password"
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(password, encoding="utf-8")
        return str(path)

    def start(
        self,
        *words: str,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        preexec_fn: Callable[[], None] | None = None,
        program: tuple[str, ...] = (sys.executable,),
    ) -> subprocess.Popen[str]:
        """Start a command in a session of its own, which a Ctrl-C for the tests does not reach."""
        return subprocess.Popen(
            [*program, "-m", "starcast.cli.app", *words],
            cwd=cwd,
            preexec_fn=preexec_fn,  # noqa: PLW1509 - only `full_output` passes one, without threads
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def run(self, *words: str, deadline: float = 300, **options: Any) -> Done:
        """Run a command, started with the options of `start`, until its end or its deadline."""
        return finish(self.start(*words, **options), words, deadline)

    def finish_work(self, commands: Iterable[tuple[str, ...]]) -> list[str]:
        """Finish the work of interrupted commands; return a problem for each failure."""
        problems = []
        for words in dict.fromkeys(remedy for command in commands for remedy in finishing(command)):
            done = self.run(*words)
            is_gone = words[:2] == ("topology", "drop") and done.code == NotFoundError.exit_code
            if done.code and not is_gone:
                problems.append(f"{' '.join(words)} does not finish the work: {done.err[-300:]}")
        return problems

    def check_recovery(self, baseline: str, commands: Iterable[tuple[str, ...]]) -> list[str]:
        """Finish the work of interrupted commands; return all problems found before and after."""
        problems = self.find_problems(baseline, finished=False)
        problems += self.finish_work(commands)
        return problems + self.find_problems(baseline, finished=True)

    def recovered(self) -> "Servers":
        """Return the servers, after starting embedded servers that are not running."""
        if self.home is None:
            return self
        try:
            endpoints(self.home)
        except UnavailableError:
            done = self.run("up")
            if done.code:
                raise AssertionError(f"the servers do not start again: {done.err}") from None
        return embedded_servers(self.home, self.folder)

    def prepare(self) -> None:
        """Store the baseline data, which no action may change."""
        for words in BASELINE:
            done = self.run(*words)
            if done.code:
                raise AssertionError(f"{words}: {done.err}")

    def snapshot(self) -> str:
        """Return the runs of the baseline with their costs, as text."""
        engine = sessions.connect(self.url)
        try:
            with sessions.open_session(engine) as session:
                runs = [
                    run
                    for experiment in repository.list_experiments(session)
                    for run in repository.load_runs(session, experiment.id)
                    if run.topology == "S4"
                ]
                rows = [
                    (run.id, run.algorithm, str(run.message_bytes), str(run.finished_at),
                     [(cost.kind, cost.steps, str(cost.time)) for cost in run.costs])
                    for run in runs
                ]  # fmt: skip
        finally:
            engine.dispose()
        return json.dumps(rows)

    def find_problems(self, baseline: str, *, finished: bool) -> list[str]:
        """Return the violated invariants of the stores.

        Args:
            baseline: the earlier result of `snapshot`.
            finished: True if nothing is left to clean up, so that the stores must agree completely.
                Otherwise artifacts may be incomplete, and only complete artifacts must be correct.
        """
        engine = sessions.connect(self.url)
        try:
            with Graph.open(self.address) as graph:
                stores = Stores(engine, graph, _BATCH)
                recorded = states(stores)
                problems = _check_states(recorded, graph_states(stores), finished=finished)
                differences = verify(stores, checksums=finished)
        except StarcastError as error:
            return [f"the stores cannot be verified: {error.message}"]
        finally:
            engine.dispose()
        for difference in differences:
            if finished or recorded.get(difference.artifact) == _COMPLETE:
                values = f"{difference.found}, not {difference.expected}"
                problems.append(f"{difference.artifact}: {difference.problem}: {values}")
        if self.snapshot() != baseline:
            problems.append("the runs of the baseline changed")
        return problems


def embedded_servers(home: Path, folder: Path) -> Servers:
    """Return the running servers of a home folder."""
    settings = Settings.load(home=home)
    return Servers(graph_address(settings), store_url(settings), folder, home)


def _check_states(
    in_tables: Mapping[str, str], in_neo4j: Mapping[tuple[str, str], Any], *, finished: bool
) -> list[str]:
    """Return a problem for every artifact with a wrong state; the baseline must be complete."""
    in_graph = {name: state for (_, name), state in in_neo4j.items()}
    problems = [
        f"{name} is complete in PostgreSQL and {in_graph.get(name)} in Neo4j"
        for name, state in in_tables.items()
        if state == _COMPLETE and in_graph.get(name) != _COMPLETE
    ]
    baseline = {"S4", "S4:greedy:1234", "S4:multiple:1234"}
    problems += [f"{name} is lost" for name in baseline if in_tables.get(name) != _COMPLETE]
    if finished:
        problems += [
            f"{name} is {state}" for name, state in in_tables.items() if state != _COMPLETE
        ]
    return problems


def finish(process: subprocess.Popen[str], words: tuple[str, ...], deadline: float) -> Done:
    """Wait for a command; at its deadline, end it and all processes that it started."""
    try:
        out, err = process.communicate(timeout=deadline)
    except subprocess.TimeoutExpired:
        for child in children_of(process.pid):
            with suppress(psutil.NoSuchProcess):
                child.kill()
        process.kill()
        return Done(words, None, *process.communicate())
    return Done(words, process.returncode, out, err)


def children_of(pid: int) -> list[psutil.Process]:
    """Return the processes that a command has started, except servers of the embedded stack."""
    children = []
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with suppress(ProcessLookupError):
                if os.getpgid(child.pid) == pid:
                    children.append(child)
    return children
