"""Fuzzed input of every kind: valid examples are changed randomly and given to their readers."""

import io
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, NoReturn
from unittest.mock import patch

import numpy as np

from campaign import fuzz_files, fuzz_plugins
from campaign.fuzz_files import HOSTILE, Case, Reader, change_array, damage
from campaign.output import Done, Outcome, find_problems
from campaign.servers import Servers
from starcast.cli.app import main
from starcast.collectives import Schedule, schedule
from starcast.collectives.columns import schedule_from_csv
from starcast.collectives.model import COLUMNS
from starcast.embedded.endpoints import graph_address, store_url
from starcast.experiments.design import read_design
from starcast.formats import (
    render,
    schedule_from_goal,
    schedule_from_msccl,
    schedule_from_mscclpp,
)
from starcast.judges.simulator import Fault, simulate
from starcast.queries.query import parse_header
from starcast.stores.database import sessions
from starcast.stores.graph.connection import Graph
from starcast.support.errors import StarcastError
from starcast.support.settings import Settings
from starcast.support.vocabulary import parse_spec
from starcast.topologies import topology
from starcast.trees import forest

#: Time limit in seconds for a single input.
_LIMIT = 30


class TooSlow(BaseException):
    """Raised if an input takes longer than the limit."""


_GRID = """title = "a title"
[[grid]]
topology = ["S4", "S5"]
algorithm = ["multiple", "greedy"]
segments = [1, 2, "best"]
message_bytes = [64, "23/3"]
faults = ["none", "2 nodes", "1 link"]
t_s = 100
"""
_SETTINGS = """home = "/tmp/nowhere"
neo4j_uri = "bolt://localhost:7687"
neo4j_heap = "512m"
batch = 500
timeout = 3.5
row_limit = 10
"""
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


def _read_construction(text: str) -> None:
    name, arguments = parse_spec(text)
    if not {"topology", "construction", "root"} & arguments.keys():
        forest("S4", name, **arguments)


def _read_label(text: str) -> int:
    spec, _, label = text.partition(" ")
    return topology(spec).rank(label)


def _read_fault(text: str) -> object:
    return simulate(schedule("S4", "broadcast", "greedy"), [Fault.parse(text)])


def _load_settings(file: Path) -> None:
    with patch.dict(os.environ, {"STARCAST_CONFIG": str(file)}):
        Settings.load()


def _connect_store(uri: str) -> None:
    sessions.connect(store_url(Settings.load(postgres_uri=uri))).dispose()


def _connect_graph(uri: str) -> None:
    Graph.open(graph_address(Settings.load(neo4j_uri=uri, neo4j_password="x"))).close()


def _schedule_reader(read: Callable[..., Schedule]) -> Callable[[Path], object]:
    return lambda file: simulate(read(file, "S3", "broadcast"))


#: URIs of servers that refuse connections at once.
_POSTGRES_URIS = (
    "postgresql://user@127.0.0.1:1/database",
    "postgresql://user@127.0.0.1:1,127.0.0.1:2/database?target_session_attrs=any",
    "postgresql:///database?host=/nowhere&user=user&connect_timeout=1",
    "postgres://127.0.0.1:1/database?sslmode=require&options=-c%20geqo%3Doff",
    "postgresql+psycopg://user@[::1]:1/database?application_name=x",
)
_NEO4J_URIS = (
    "bolt://127.0.0.1:1", "neo4j://127.0.0.1:1", "bolt+s://127.0.0.1:1", "bolt+ssc://[::1]:1",
    "neo4j+s://127.0.0.1:1", "neo4j://127.0.0.1:1?policy=x",
)  # fmt: skip
_PLAN = schedule("S3", "broadcast", "greedy")


def _exchanging_gpu(rank: int) -> dict[str, object]:
    """Return GPU 0 or 1 of an MSCCL++ plan in which the two GPUs exchange a chunk."""
    peer = 1 - rank
    own = [{"type": "i", "index": rank, "size": 1}], [{"type": "o", "index": rank, "size": 1}]
    other = [{"type": "i", "index": peer, "size": 1}], [{"buffer_id": 0, "index": rank, "size": 1}]
    words = {"channel_type": "memory", "channel_ids": [0]}
    operations: list[dict[str, object]] = [
        {"name": "copy", "src_buff": own[0], "dst_buff": own[1]},
        {"name": "put", "src_buff": other[0], "dst_buff": other[1], **words},
        {"name": "signal", **words},
        {"name": "wait", **words},
    ]
    buffers = [{"access_channel_type": "memory", "remote_buffer_ids": [0]}]
    block = {"id": 0, "ops": operations, "channels": [words], "remote_buffer_refs": buffers}
    sizes = {"input_chunks": 2, "output_chunks": 2, "scratch_chunks": 0}
    channels = [{"channel_type": "memory", "connected_to": [peer]}]
    remote = [{"rank": peer, "type": "o"}]
    return {
        "id": rank, **sizes, "threadblocks": [block], "channels": channels, "remote_buffers": remote
    }  # fmt: skip


_EXCHANGE = json.dumps(
    {"collective": "alltoall", "inplace": False, "gpus": [_exchanging_gpu(0), _exchanging_gpu(1)]}
)


def _file(name: str) -> tuple[str]:
    """Return a tuple with one text: a schedule file in the named format."""
    return (b"".join(render(_PLAN, name)).decode(),)


#: For each kind of text: valid texts, and a function that reads a changed text or a file with it.
TEXTS: dict[str, tuple[tuple[str, ...], Callable[[Any], object]]] = {
    "topology spec": (("S5", "S6,3", "Q4", "S12", "Q24"), lambda text: topology(text).spec),
    "label": (("S5 21345", "S5,3 213", "Q4 0110", "S11 b23456789a1"), _read_label),
    "fault": (("2134", "1234-2134", "2134@3", "#6@2", "1234-2134@17"), _read_fault),
    "construction": (("greedy", "dimension-change(base=multiple,i=2)"), _read_construction),
    "pack header": ((_HEADER,), parse_header),
    "grid": ((_GRID,), lambda file: len(read_design(str(file)).points())),
    "settings": ((_SETTINGS,), _load_settings),
    "PostgreSQL URI": (_POSTGRES_URIS, _connect_store),
    "Neo4j URI": (_NEO4J_URIS, _connect_graph),
    "rows": (_file("csv"), _schedule_reader(schedule_from_csv)),
    "goal": (_file("goal"), _schedule_reader(schedule_from_goal)),
    "msccl": (_file("msccl-xml"), _schedule_reader(schedule_from_msccl)),
    "plan": ((_EXCHANGE,), lambda file: simulate(schedule_from_mscclpp(file, "K2", "alltoall"))),
}
#: The kinds of texts that are read from a file, and the suffix of the file name.
_SUFFIXES = {
    "grid": ".toml",
    "settings": ".toml",
    "rows": ".csv",
    "goal": ".goal",
    "msccl": ".xml",
    "plan": ".json",
}
#: Encodings that other programs write; "utf-8-sig" and "utf-16" begin with a byte order mark.
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp037", "shift-jis")


def text_reader(kind: str) -> Reader:
    """Return a reader whose inputs are damaged texts, or files with damaged texts."""
    examples, read = TEXTS[kind]

    def make(draw: Random, folder: Path) -> Case:
        text = damage(draw, draw.choice(examples))
        if kind not in _SUFFIXES:
            return text, partial(read, text)
        file = folder / f"fuzzed{_SUFFIXES[kind]}"
        content = text.encode("utf-8", "surrogatepass")
        if draw.random() < 0.3:
            separator, ending = draw.choice(",;\t|"), draw.choice(("\n", "\r\n", "\r", "\n\n"))
            text = text.replace(",", separator).replace("\n", ending)
            content = text.encode(draw.choice(_ENCODINGS), "replace")
        file.write_bytes(content)
        return text, partial(read, file)

    return make


def _schedule(draw: Random, _: Path) -> Case:
    plan = schedule("S4", "broadcast", "multiple")
    fields = {name: getattr(plan, name) for name in COLUMNS}
    name = draw.choice(COLUMNS)
    fields[name] = change_array(draw, fields[name].astype(np.int64))
    units = draw.choice((plan.units, 0, -1, 10**9, 10**30, plan.units))
    description = f"{name}: {fields[name].dtype}{list(fields[name].shape)}, units = {units}"

    def read() -> object:
        return simulate(
            Schedule(plan.topology, "broadcast", "multiple", "all", units, packets=False,
                     forest=plan.forest, **fields)
        )  # fmt: skip

    return description, read


READERS: dict[str, Reader] = {
    **{kind: text_reader(kind) for kind in TEXTS},
    "schedule": _schedule,
    "forest file": fuzz_files.forest_file,
    "experiment file": fuzz_files.experiment_file,
    "shard": fuzz_files.shard_file,
    "record": fuzz_files.record_file,
    "backup": fuzz_files.backup_file,
    "plug-in": fuzz_plugins.declaration,
}


def fuzz_reader(folder: Path, draw: Random, kind: str | None = None) -> Outcome:
    """Give a random input to a reader, which must read it or refuse it with a hint.

    Args:
        folder: the folder for the input files.
        draw: random generator that determines the input.
        kind: the reader, chosen at random by default.
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
            problems.append(f"{kind}: the message is not one line: {error.message[:200]!r}")
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


def fuzz_command(servers: Servers, draw: Random) -> Outcome:
    """Run a randomly changed command line in this process."""
    words = shlex.split(draw.choice(_COMMANDS))
    for _ in range(draw.randint(1, 2)):
        place = draw.randrange(len(words))
        match draw.randrange(5):
            case 0:
                del words[place]
            case 1:
                words.insert(place, draw.choice(HOSTILE))
            case 2:
                words.insert(place, draw.choice(("--format", "--jobs", "--wait", "--all", "-f")))
            case _:
                words[place] = damage(draw, words[place])
        words = words or ["query"]
    # A shell cannot pass a NUL character. Commands that could stop the servers or delete data are
    # skipped.
    words = [word.replace("\x00", "") for word in words]
    if {"up", "down", "demo", "rebuild", "drop", "uninstall"} & set(words):
        return " ".join(words), "skipped", []
    done = _run_here(servers, words)
    problems = [] if done.code is None else find_problems(done)  # long runs are allowed
    return ascii(" ".join(words))[:300], done.result, problems


def _run_here(servers: Servers, words: Sequence[str]) -> Done:
    out, err = io.StringIO(), io.StringIO()
    code: int | None = 0
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
        code = int(end.code or 0)
    except TooSlow:
        code = None
    except BaseException as error:  # noqa: BLE001 - the finding
        code = 1
        print(f"Traceback (most recent call last): {error!r}", file=err)
    return Done(tuple(words), code, out.getvalue(), err.getvalue())


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
