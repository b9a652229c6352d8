"""Fuzzed input of every kind: valid examples are changed randomly and given to their readers."""

import io
import os
import shlex
import signal
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from random import Random
from types import FrameType
from typing import NoReturn
from unittest.mock import patch

import numpy as np

from campaign import fuzz_files, fuzz_plugins
from campaign.output import Done, find_problems
from campaign.servers import Servers
from starcast.cli.app import main
from starcast.collectives import Schedule, schedule
from starcast.collectives.model import COLUMNS
from starcast.experiments.design import read_design
from starcast.judges.simulator import Fault, simulate
from starcast.queries.query import parse_header
from starcast.support.errors import StarcastError
from starcast.support.settings import Settings
from starcast.support.spec_syntax import parse_spec
from starcast.topologies import topology
from starcast.trees import Forest, forest

#: Time limit in seconds for a single input.
_LIMIT = 30
_HOSTILE = (
    "", " ", "\n", "\x00", "\x1b[31m", "\u202e", "²", "٣", "é", "日本", "'", '"', "\\", "/", "..",
    "-", "--", "-1", "0", "1", "9" * 40, "9" * 5_000, "1e308", "1e999", "nan", "inf", "0x10", "1/0",
    "[" * 3_000, "]" * 3_000, "(" * 200, "{", "}", "[", "]", "(", ")", ",", ":", "=", "@", "#", "*",
    "%s", "$x", "${HOME}", "~nosuch/x", "a" * 300, "S5", "S99", "S5,3", "Q4", "multiple", "root",
    "null", "true", "none", "best", "degree", "all", "one",
)  # fmt: skip


class TooSlow(BaseException):
    """An input that takes longer than the limit."""


def damage(draw: Random, text: str) -> str:
    """Return a text with up to three random changes."""
    for _ in range(draw.randint(0, 3)):
        place = draw.randint(0, len(text))
        end = min(len(text), place + draw.choice((0, 1, 1, 2, 8)))
        match draw.randrange(4):
            case 0:
                text = text[:place] + draw.choice(_HOSTILE) + text[end:]
            case 1:
                text = text[:place] + text[end:]
            case 2:
                text = text[:place] + text[place:end] * draw.choice((2, 3, 1_000)) + text[end:]
            case _:
                text = text[:place] + chr(draw.choice((draw.randrange(128), 0x1F600))) + text[end:]
    return text


# Each of the following functions returns a random input, and a function that reads it.

Case = tuple[str, Callable[[], object]]


def _topology(draw: Random, _: Path) -> Case:
    text = damage(draw, draw.choice(("S5", "S6,3", "Q4", "S12", "Q24")))
    return text, lambda: topology(text).spec


def _label(draw: Random, _: Path) -> Case:
    spec, label = draw.choice(
        (("S5", "21345"), ("S5,3", "213"), ("Q4", "0110"), ("S11", "b23456789a1"))
    )
    text = damage(draw, label)
    return f"{spec} {text!r}", lambda: topology(spec).rank(text)


def _fault(draw: Random, _: Path) -> Case:
    text = damage(draw, draw.choice(("2134", "1234-2134", "2134@3", "#6@2", "1234-2134@17")))
    plan = schedule("S4", "broadcast", "greedy")
    return text, lambda: simulate(plan, [Fault.parse(text)])


def _spec(draw: Random, _: Path) -> Case:
    text = damage(draw, draw.choice(("greedy", "dimension-change(base=multiple,i=2)")))

    def read() -> object:
        name, arguments = parse_spec(text)
        taken = {"topology", "construction", "root"} & arguments.keys()
        return None if taken else forest("S4", name, **arguments)

    return text, read


_GRID = """title = "a title"
[[grid]]
topology = ["S4", "S5"]
algorithm = ["multiple", "greedy"]
segments = [1, 2, "best"]
message_bytes = [64, "23/3"]
faults = ["none", "2 nodes", "2134"]
t_s = 100
"""


def _grid(draw: Random, folder: Path) -> Case:
    text = damage(draw, _GRID)
    file = folder / "grid.toml"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    return text, lambda: len(read_design(str(file)).points())


_SETTINGS = """home = "/tmp/nowhere"
neo4j_uri = "bolt://localhost:7687"
neo4j_heap = "512m"
batch = 500
timeout = 3.5
row_limit = 10
"""


def _settings(draw: Random, folder: Path) -> Case:
    text = damage(draw, _SETTINGS)
    file = folder / "settings.toml"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")

    def read() -> None:
        with patch.dict(os.environ, {"STARCAST_CONFIG": str(file)}):
            Settings.load()

    return text, read


_HEADER = """// title: A title
// question: How many?
// parameters:
//   forest (forest): the forest
//   least (int >= 1, default 2): the least
//   words (list of string, default ["a"]): words
// columns:
//   tree: the number
//   nodes (list of node): a path
// cost: 3 s on S8
// revision: 12
// reference: Tseng & Sheu 1997, Def. 2
MATCH (f:Forest {id: $forest}) RETURN f.trees AS tree, [] AS nodes
"""


def _header(draw: Random, _: Path) -> Case:
    text = damage(draw, _HEADER)
    return text, lambda: parse_header(text)


def _forest_file(draw: Random, folder: Path) -> Case:
    path = folder / "forest.npz"
    spec, name = draw.choice((("S4", "multiple"), ("S5", "greedy"), ("Q3", "binomial")))
    forest(spec, name).save(path)
    change = _change_bytes if draw.random() < 0.4 else _change_part
    what = change(draw, path)

    def read() -> None:
        opened = Forest.open(path)
        with suppress(StarcastError):
            opened.verify()

    return f"{spec} {name}: {what}", read


def _change_bytes(draw: Random, path: Path) -> str:
    content = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(content))
        content[place] = draw.randrange(256)
    if draw.random() < 0.3:
        del content[draw.randrange(len(content)) :]
    path.write_bytes(content)
    return f"{len(content)} bytes"


def _change_part(draw: Random, path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(sorted(parts))
    array = _part(draw)
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    content = bytearray(file.getvalue())
    if draw.random() < 0.3:
        head = content.index(b"\n") if b"\n" in content else len(content)
        text = damage(draw, content[10:head].decode("latin-1")).encode("latin-1", "replace")
        content[10:head] = text[: head - 10].ljust(head - 10)
    parts[name] = bytes(content)
    with zipfile.ZipFile(path, "w", draw.choice((0, 8, 12, 14))) as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
            if part == name and draw.random() < 0.05:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    archive.writestr(part, data)
    return f"{name} = {array.dtype}{list(array.shape)}"


def _part(draw: Random) -> np.ndarray:
    values: tuple[object, ...] = (
        "S4", "S12", "x" * 5_000, damage(draw, '{"base": "multiple", "i": 2}'), "null", "[" * 4_000,
        0, -1, 2**63 - 1, 1.5, True, [], [[0]], [0, 1, 2], np.zeros((3, 24), np.uint8),
        np.zeros((300, 24), np.uint8), np.zeros((1, 2**16), np.uint8), np.datetime64("2026-01-01"),
        damage(draw, "multiple"), complex(1, 2), np.array(b"bytes"), np.zeros((2, 2, 2, 2)),
    )  # fmt: skip
    return np.asarray(draw.choice(values))


def _schedule(draw: Random, _: Path) -> Case:
    plan = schedule("S4", "broadcast", "multiple")
    fields = {name: getattr(plan, name) for name in COLUMNS}
    name = draw.choice(COLUMNS)
    column = fields[name].astype(np.int64)
    match draw.randrange(6):
        case 0:
            fields[name] = column[: draw.randrange(len(column))]
        case 1:
            fields[name] = column.astype(draw.choice((np.float64, np.uint64, np.bool_, np.str_)))
        case 2:
            column[draw.randrange(len(column))] = draw.choice(
                (-1, 2**62, -(2**62), 255, 256, 2**31)
            )
            fields[name] = column
        case 3:
            fields[name] = column[:, None]
        case 4:
            draw.shuffle(column)
            fields[name] = column
        case _:
            fields[name] = np.zeros(len(column), np.int8)
    units = draw.choice((plan.units, 0, -1, 10**9, 10**30, plan.units))
    description = f"{name}: {fields[name].dtype}{list(fields[name].shape)}, units = {units}"

    def read() -> object:
        return simulate(
            Schedule(plan.topology, "broadcast", "multiple", "all", units, packets=False,
                     forest=plan.forest, **fields)
        )  # fmt: skip

    return description, read


READERS: dict[str, Callable[[Random, Path], Case]] = {
    "topology spec": _topology,
    "label": _label,
    "fault": _fault,
    "construction": _spec,
    "grid": _grid,
    "settings": _settings,
    "pack header": _header,
    "forest file": _forest_file,
    "schedule": _schedule,
    "experiment file": fuzz_files.experiment_file,
    "shard": fuzz_files.shard_file,
    "record": fuzz_files.record_file,
    "backup": fuzz_files.backup_file,
    "plug-in": fuzz_plugins.declaration,
}


def fuzz_reader(folder: Path, draw: Random, kind: str | None = None) -> tuple[str, str, list[str]]:
    """Give a random input to a reader, which must read it or refuse it with a hint.

    Args:
        folder: for the files of the input.
        draw: random generator that determines the input.
        kind: the reader, chosen at random by default.

    Returns:
        Description, result and problems.
    """
    kind = kind or draw.choice(list(READERS))
    description, read = READERS[kind](draw, folder)
    shown = f"{kind}: {description[:200]!a}"
    try:
        with _time_limit(_LIMIT):
            read()
    except StarcastError as error:
        problems = []
        if "\n" in error.message or not error.message:
            problems.append(f"{kind}: the message is not one sentence: {error.message[:200]!r}")
        if not error.hint:
            problems.append(f"{kind}: no hint: {error.message[:200]!r}")
        if type(error) is StarcastError:
            problems.append(f"{kind}: it reports an internal error: {error.message[:200]!r}")
        return shown, f"{kind}: refused", problems
    except TooSlow:
        return shown, f"{kind}: too slow", [f"it takes longer than {_LIMIT} s"]
    except Exception as error:  # noqa: BLE001 - the finding
        return shown, f"{kind}: defect", [f"{type(error).__name__}: {str(error)[:200]}"]
    return shown, f"{kind}: read", []


_COMMANDS = """
topology show S5
topology show S5 21345 --format json
topology list
forest show S4 multiple
forest show S4:multiple:1234
forest verify S4 'dimension-change(base=multiple,i=1)' --root 2134
forest draw S4 multiple --tree 1
forest list S4
schedule simulate S4 broadcast edge-disjoint --copies 2 --fault 2134
schedule rows S3 alltoall exact --format csv
schedule steps S4:broadcast:multiple:all:segments=1:1234
schedule algorithms S4 --collective broadcast
ingest S4 --trees multiple,greedy --dry-run
ingest S4 --schedules broadcast:multiple --segments 2 --dry-run
query run overlap/shared-links forest=S4:multiple:1234 min_load=1
query run paths/shortest-path topology=S4 source=1234 target=4321
query show overlap/shared-links
query list
run show 1
run list --topology S4
experiment show baseline
experiment list
compare baseline baseline
compare 1 2
claims show TS.L5
claims check TS.L6 --sizes S4 --no-store
cost form S5 broadcast multiple -m 64
graph verify S4 --sample 3 --seed 7
db check
config
""".strip().splitlines()


def fuzz_command(servers: Servers, draw: Random) -> tuple[str, str, list[str]]:
    """Run a randomly changed command line in this process.

    Returns:
        Description, result and problems.
    """
    words = shlex.split(draw.choice(_COMMANDS))
    for _ in range(draw.randint(1, 2)):
        place = draw.randrange(len(words))
        match draw.randrange(5):
            case 0:
                del words[place]
            case 1:
                words.insert(place, draw.choice(_HOSTILE))
            case 2:
                words.insert(place, draw.choice(("--format", "--jobs", "--wait", "--all", "-f")))
            case _:
                words[place] = damage(draw, words[place])
        words = words or ["query"]
    # A shell cannot pass a NUL character. Commands that start or stop servers are tested elsewhere.
    words = [word.replace("\x00", "") for word in words]
    if {"up", "down", "demo", "rebuild", "drop", "uninstall"} & set(words):
        return " ".join(words), "skipped", []
    done = _run_here(servers, words)
    problems = [] if done.result == "too slow" else find_problems(done)
    return ascii(" ".join(words))[:300], done.result, problems


class _Slow(Done):
    """A command interrupted at its time limit, which is not counted as a problem."""

    @property
    def result(self) -> str:
        """The text ``too slow``, instead of the exit code."""
        return "too slow"


def _run_here(servers: Servers, words: Sequence[str]) -> Done:
    out = io.StringIO()
    err = io.StringIO()
    code: object = 0
    try:
        with (
            patch.object(sys, "argv", ["starcast", *words]),
            patch.dict(os.environ, servers.environment),
            chdir(servers.folder),
            redirect_stdout(out),
            redirect_stderr(err),
            _time_limit(_LIMIT),
        ):
            main()
    except SystemExit as end:
        code = end.code
    except TooSlow:
        return _Slow(tuple(words), None, out.getvalue(), err.getvalue())
    except BaseException as error:  # noqa: BLE001 - the finding
        code = 1
        print(f"Traceback (most recent call last): {error!r}", file=err)
    number = code if isinstance(code, int) else 0 if code is None else 1
    return Done(tuple(words), number, out.getvalue(), err.getvalue())


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    def expire(_number: int, _frame: FrameType | None) -> NoReturn:
        raise TooSlow

    previous = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
