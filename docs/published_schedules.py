"""Compute the tables of published-schedules.md by executing schedules that other projects publish.

The schedule files are not part of starcast. The environment variable ``PUBLISHED_SCHEDULES`` names
a folder with clones of the repositories, each in a subfolder ``OWNER/NAME``. Without this variable,
the page is not changed.
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from marked import fill_tables, head, row

import starcast
from starcast.costs import Machine, lower_bound
from starcast.formats import read_schedule
from starcast.support.errors import InputError, RejectedError

PAGE = Path(__file__).parent / "published-schedules.md"
VARIABLE = "PUBLISHED_SCHEDULES"
#: Message sizes in bytes. In an allreduce, a message is a vector.
MESSAGES = (1024, 2**20)
MACHINE = Machine(Fraction(100), Fraction(1))
#: Names of collectives in schedule files, and starcast's names for these collectives.
_NAMES = {"reducescatter": "reduce-scatter", "reduce_scatter": "reduce-scatter"}


class Source(NamedTuple):
    """A repository that contains schedule files.

    Attributes:
        repository: the repository's name on GitHub, ``OWNER/NAME``.
        commit: the commit whose files are executed.
        files: a regular expression that matches the paths of the files.
        network: the topology; "" if the files determine it.
        collective: the collective; "" if the files name it.
    """

    repository: str
    commit: str
    files: str
    network: str = ""
    collective: str = ""


SOURCES = (
    Source(
        "ROCm/rccl", "0cbce2a7571c907554199fad7e905f16ec0a565c", r"tools/msccl-.*algorithms/.*\.xml"
    ),
    Source(
        "Azure/msccl-scheduler", "a0bfca14a1869bd8ef71328c26ee998bd2dcc368",
        r"tools/msccl-algorithms/.*\.xml",
    ),
    Source(
        "microsoft/mscclpp", "1f5f065d7b13ab02df32c22568f38785d1eeec01",
        r"test/(execution-files|executor-tests/execution-plans)/.*\.json",
    ),
    Source(
        "spcl/LogGOPSim", "76451de16546c7ea39651c183cbc532f4a3457c0",
        r"src/LogGOPSim/binary_tree_32\.goal", "Q5", "broadcast",
    ),
)  # fmt: skip


class Verdict(NamedTuple):
    """The result of executing a schedule file.

    Attributes:
        collective: the collective.
        network: the topology.
        verdict: ``right``, ``wrong: ...`` or ``not read: ...``, with the reason.
        steps: the number of steps; None for a schedule that is not right.
        ratios: for each size in `MESSAGES`, the time divided by its lower bound; empty for a
            schedule that is not right.
    """

    collective: str
    network: str
    verdict: str
    steps: int | None = None
    ratios: tuple[Fraction, ...] = ()


def page() -> str:
    """Return the text of published-schedules.md.

    Its tables are newly computed if the environment variable ``PUBLISHED_SCHEDULES`` is set.
    """
    if VARIABLE not in os.environ:
        return PAGE.read_text(encoding="utf-8")
    return fill_tables(PAGE, Path(__file__).name, TABLES)


def clone_of(source: Source) -> Path:
    """Return the folder that contains the clone of a source's repository."""
    return Path(os.environ[VARIABLE]) / source.repository


@cache
def published(source: Source) -> dict[str, list[str]]:
    """Return the paths of a source's schedule files, by the Git id of the file content."""
    listed = _git(source, "ls-tree", "-r", source.commit).decode()
    paths: dict[str, list[str]] = {}
    for line in listed.splitlines():
        entry, path = line.split("\t")
        if re.fullmatch(source.files, path):
            paths.setdefault(entry.split()[2], []).append(path)
    return paths


def _git(source: Source, *words: str) -> bytes:
    command = ["git", "-C", str(clone_of(source)), *words]
    return subprocess.run(command, check=True, capture_output=True).stdout


@cache
def verdict_of(source: Source, blob: str) -> Verdict:
    """Return the verdict on the file content with the Git id ``blob``."""
    suffix = Path(published(source)[blob][0]).suffix
    content = _git(source, "cat-file", "blob", blob)
    return judge(content, suffix, source.network, source.collective)


def judge(content: bytes, suffix: str, network: str = "", collective: str = "") -> Verdict:
    """Read and execute a schedule file, and return the verdict.

    Args:
        content: the content of the file.
        suffix: the suffix of the file's name.
        network: the topology; by default the complete graph with the file's number of GPUs.
            Required if ``collective`` is given.
        collective: the collective; by default the collective named in the file.
    """
    if not collective:
        name, nodes = _head(content)
        collective, network = _NAMES.get(name, name), network or f"K{nodes}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"schedule{suffix}"
        file.write_bytes(content)
        try:
            built = read_schedule(file, network, collective)  # type: ignore[arg-type]
        except (InputError, RejectedError) as error:
            kind = "wrong" if isinstance(error, RejectedError) else "not read"
            reason = error.message.removeprefix(f"{file}").lstrip(":, ")
            return Verdict(collective, network, f"{kind}: {reason}")
    result = starcast.simulate(built)
    if not result.complete:
        return Verdict(collective, network, f"wrong: {result.missing} units are not delivered")
    ratios = []
    for size in MESSAGES:
        unit_bytes = Fraction(size, built.message_units)
        time = starcast.timing(built, unit_bytes, MACHINE.t_s, MACHINE.t_c).time
        bound = lower_bound(network, collective, "all", Fraction(size), MACHINE, root=built.root)
        ratios.append(time / bound.time)
    return Verdict(collective, network, "right", result.steps, tuple(ratios))


def _head(content: bytes) -> tuple[str, int]:
    """Return the collective and the number of GPUs of an MSCCL XML file or MSCCL++ plan."""
    text = content.decode()
    if text.lstrip().startswith("{"):
        plan: dict[str, Any] = json.loads(text)
        return plan["collective"], len(plan["gpus"])
    found = [re.search(rf'<algo\b[^>]*\b{name}="(\w+)"', text) for name in ("coll", "ngpus")]
    collective, nodes = (match[1] if match else "" for match in found)
    return collective, int(nodes)


def sources() -> Iterator[str]:
    """Yield the lines of a table of sources, with the number of files for each verdict."""
    yield from head("repository", "commit", "files", "different", "right", "wrong", "not read")
    for source in SOURCES:
        blobs = published(source)
        kinds = [verdict_of(source, blob).verdict.partition(":")[0] for blob in blobs]
        link = f"[{source.repository}](https://github.com/{source.repository})"
        files = sum(map(len, blobs.values()))
        counts = [kinds.count(kind) for kind in ("right", "wrong", "not read")]
        yield row(link, f"`{source.commit[:12]}`", files, len(blobs), *counts)


def verdicts() -> Iterator[str]:
    """Yield the lines of a table of verdicts; files with the same content share a row."""
    sizes = ("time at 1 kB", "time at 1 MB")
    yield from head("file", "collective", "network", "steps", *sizes, "verdict")
    for source in SOURCES:
        for blob, paths in published(source).items():
            found = verdict_of(source, blob)
            names = "<br>".join(f"`{source.repository}: {path}`" for path in paths)
            ratios = [f"{float(ratio):.2f}" for ratio in found.ratios] or [""] * len(MESSAGES)
            steps = "" if found.steps is None else found.steps
            yield row(names, found.collective, found.network, steps, *ratios, found.verdict)


TABLES = {"sources": sources, "verdicts": verdicts}
