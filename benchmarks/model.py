"""Compare graph models by the cost of writing, the store size and the query speed.

A graph model determines how topologies, forests and schedules are stored in Neo4j. Each model is
measured on its own embedded stack. The content of the stores is always the same: a warm-up
topology, then S7 and S8 with the forests `multiple` and `greedy` and a broadcast. Each cost is
measured as wall-clock time and as CPU time of the server, which depends less on other load.
``docs/decisions/0007-graph-model.md`` has the tables. The comparison is not part of ``make bench``,
because ``python -m benchmarks model`` takes about a quarter of an hour.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter

import psutil

from benchmarks.measure import Figure, embedded_stack
from benchmarks.model_variants import MODELS, QUESTIONS, Model
from starcast import Forest, forest, schedule, topology
from starcast.cli.output import emit, say
from starcast.embedded import stack
from starcast.embedded.endpoints import graph_address
from starcast.stores.graph.artifacts import Rows, graph_artifact
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import LINK
from starcast.stores.graph.writer import group_by_start
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from starcast.topologies import Topology

SIZES = ("S7", "S8")
WARM_UP = "S8,5"
ROUNDS = 7
#: Each query is repeated for this CPU time of the server, in seconds. A single execution would be
#: too short, because the system measures CPU time in hundredths of a second.
LEAST = 0.1
TIMEOUT = 120.0
MB = 1e6


@dataclass(frozen=True)
class Cost:
    """The wall-clock time of an operation, and the CPU time of the server, in the same unit."""

    wall: float
    processor: float


@dataclass
class Result:
    """Measured costs of a graph model.

    Attributes:
        model: the model.
        asked: the cost of each question in seconds, by topology and question.
        written: the cost of writing in microseconds per row, by topology and kind of row.
        answers: the result rows of each question, by topology and question.
        size: the size of the store in bytes.
        indexes: the size of the store's indexes in bytes.
    """

    model: type[Model]
    asked: dict[tuple[str, str], Cost] = field(default_factory=dict)
    written: dict[tuple[str, str], Cost] = field(default_factory=dict)
    answers: dict[tuple[str, str], object] = field(default_factory=dict)
    size: int = 0
    indexes: int = 0

    def mean(self, spec: str) -> float:
        """Return the geometric mean of the server's CPU seconds for all questions on a topology."""
        return math.exp(
            sum(math.log(self.asked[spec, name].processor) for name in QUESTIONS) / len(QUESTIONS)
        )


@dataclass(frozen=True)
class Content:
    """A topology, two forests and a schedule on it, and the rows of all these artifacts."""

    topology: Topology
    forest: Forest
    other: Forest
    rows: tuple[tuple[str, Rows], ...]
    schedule: str

    @classmethod
    def of(cls, spec: str) -> "Content":
        """Build the content for a topology.

        The artifacts are the forest `multiple`, the tree `greedy`, and a broadcast along the forest
        (on an (n,k)-star, `nk-multiple` and `nk-greedy`).
        """
        network = topology(spec)
        names = (
            ("nk-multiple", "nk-greedy") if network.family == "nk-star" else ("multiple", "greedy")
        )
        trees, tree = (forest(network, name) for name in names)
        sends = schedule(network, "broadcast", names[0], segments=1)
        rows = (
            ("LINK", graph_artifact(network).rows),
            ("TREE_EDGE", graph_artifact(trees).rows),
            ("", graph_artifact(tree).rows),
            ("SEND", graph_artifact(sends).rows),
        )
        return cls(network, trees, tree, rows, sends.id)

    def parameters(self) -> dict[str, object]:
        """Return the parameters of the questions in `QUESTIONS`."""
        step = max(1, self.forest.height // 2)
        child = int(self.topology.neighbours(2)[self.forest.root])
        return {
            "topology": self.topology.spec,
            "forest": self.forest.id,
            "other": self.other.id,
            "schedule": self.schedule,
            "node": self.topology.label(child),
            "tree": 2,
            "step": step,
        }


def figures() -> Iterator[Figure]:
    """Compare the query time of every other model with that of starcast's model.

    The compared value is the geometric mean of the server's CPU times for all questions on S8.

    Raises:
        AssertionError: two models answer a question differently.
    """
    contents = [Content.of(spec) for spec in (WARM_UP, *SIZES)]
    results = []
    for model in MODELS:
        results.append(_measured(model, contents))
        say(
            f"{model.name}: {results[-1].mean(SIZES[-1]) * 1000:.3g} ms, "
            f"{results[-1].size / MB:.0f} MB"
        )
    shipped, *others = results
    for result in others:
        assert result.answers == shipped.answers, result.model.name
    _tables(results)
    ours = shipped.mean(SIZES[-1]) * 1000
    for other in others:
        theirs = other.mean(SIZES[-1]) * 1000
        what = f"model as shipped, {len(QUESTIONS)} questions on {SIZES[-1]}"
        # Some models need names or types in the query text. So another model counts as better only
        # if it is faster by more than a tenth.
        yield Figure(what, ours, "ms", f"< {1.1 * theirs}", other.model.name, theirs)


def _measured(model: type[Model], contents: list[Content]) -> Result:
    with embedded_stack() as settings:
        with Graph.open(graph_address(settings)) as graph:
            result = _Run(model, graph, settings).run(contents)
        stack.down(settings.home, Silent())
        # All data are in the files only because `stack.down` has stopped the server: Neo4j
        # Community has no command that writes all data to the files.
        store = settings.home / "neo4j" / "data" / "databases" / "neo4j"
        result.size, result.indexes = _bytes(store), _bytes(store / "schema")
        return result


class _Run:
    """Measures one model in an empty store."""

    def __init__(self, model: type[Model], graph: Graph, settings: Settings) -> None:
        self._result, self._graph, self._settings = Result(model), graph, settings
        pids = {server.server: server.pid for server in stack.status(settings.home)}
        self._server = psutil.Process(pids["Neo4j"])

    def run(self, contents: list[Content]) -> Result:
        for content in contents:
            self._write(self._model(content), content)
        # Questions are asked in several rounds. The first rounds warm the server up, and only the
        # shortest times are kept.
        for _ in range(ROUNDS):
            for content in contents[1:]:
                self._ask(self._model(content), content)
        return self._result

    def _model(self, content: Content) -> Model:
        return self._result.model(
            content.topology, content.forest.id, content.other.id, content.forest.trees
        )

    def _write(self, model: Model, content: Content) -> None:
        for statement in model.indexes():
            self._graph.write(statement)
        self._graph.read("CALL db.awaitIndexes(300)")
        spec = content.topology.spec
        self._rate(
            (spec, "Node"), content.topology.nodes, partial(self._nodes, model, content.topology)
        )
        for name, rows in content.rows:
            self._rate((spec, name), len(rows), partial(self._relationships, model, rows))

    def _rate(self, key: tuple[str, str], count: int, work: Callable[[], None]) -> None:
        cost = self._cost(work)
        self._result.written[key] = Cost(cost.wall / count * 1e6, cost.processor / count * 1e6)

    def _nodes(self, model: Model, topology: Topology) -> None:
        labels, size = topology.labels(), self._settings.batch
        for rank in range(0, topology.nodes, size):
            some = {
                "labels": labels[rank : rank + size].tolist(),
                "rank": rank,
                "first": model.first(topology) + rank,
            }
            self._graph.write(model.create_nodes(), some | {"topology": topology.spec})

    def _relationships(self, model: Model, rows: Rows) -> None:
        for statement, some in model.create(rows):
            for batch in chain.from_iterable(some.batches(self._settings.batch)):
                owner = (
                    rows.artifact_id if rows.relationship is LINK else model.owner(rows.artifact_id)
                )
                groups = group_by_start(batch, model.first(rows.topology))
                parameters = {"rows": groups, "owner": owner, "topology": rows.topology.spec}
                assert self._graph.write(statement, parameters)[0]["made"] == len(batch)

    def _ask(self, model: Model, content: Content) -> None:
        gaps, parameters = model.gaps(), content.parameters()
        parameters |= {
            name: model.owner(str(parameters[name])) for name in ("forest", "other", "schedule")
        }
        for name, question in QUESTIONS.items():
            cypher, key = question, (content.topology.spec, name)
            for gap, filling in gaps.items():
                cypher = cypher.replace(f"{{{gap}}}", filling)
            ask = partial(self._graph.read, cypher, parameters, TIMEOUT)
            self._result.answers[key] = ask()
            now = self._cost(ask, LEAST)
            best = self._result.asked.get(key, now)
            self._result.asked[key] = Cost(
                min(now.wall, best.wall), min(now.processor, best.processor)
            )

    def _cost(self, work: Callable[[], object], least: float = 0.0) -> Cost:
        """Repeat a call for ``least`` seconds of server CPU time, and return the mean cost."""
        runs, before, begin = 0, self._used(), perf_counter()
        while runs == 0 or self._used() - before < least:
            work()
            runs += 1
        return Cost((perf_counter() - begin) / runs, (self._used() - before) / runs)

    def _used(self) -> float:
        times = self._server.cpu_times()
        return times.user + times.system


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _tables(results: list[Result]) -> None:
    """Print tables of the writing costs, store sizes and query costs of all models."""
    columns = [
        "model",
        *(f"{spec} {kind}" for spec in SIZES for kind in ("Node", "LINK", "TREE_EDGE", "SEND")),
    ]
    rows: list[dict[str, object]] = []
    for result in results:
        row: dict[str, object] = {"model": result.model.name}
        for spec, kind in (
            (spec, kind) for spec in SIZES for kind in ("Node", "LINK", "TREE_EDGE", "SEND")
        ):
            cost = result.written[spec, kind]
            row[f"{spec} {kind}"] = f"{1000 / cost.wall:.0f} ({cost.processor:.0f})"
        rows.append(row | {"MB": result.size / MB, "MB of indexes": result.indexes / MB})
    emit(
        rows,
        [*columns, "MB", "MB of indexes"],
        title="thousand rows per second over Bolt (µs of the server's processor per row)",
    )
    for spec in SIZES:
        asked = [{"question": name, **_milliseconds(results, spec, name)} for name in QUESTIONS]
        emit(
            asked, list(asked[0]), title=f"{spec}: ms of the wall clock (of the server's processor)"
        )


def _milliseconds(results: list[Result], spec: str, name: str) -> dict[str, object]:
    costs = {result.model.name: result.asked[spec, name] for result in results}
    return {
        model: f"{cost.wall * 1000:.3g} ({cost.processor * 1000:.3g})"
        for model, cost in costs.items()
    }
