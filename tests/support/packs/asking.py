"""What the oracles of the packs are made of: a registry, and brute force on labels as text and on arrays read row by row.

Nothing here asks the library how a topology is linked: `across` follows the definitions of the three families. Forests and
schedules are read as data.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, permutations, product
from typing import Any, NamedTuple

from starcast.collectives import Schedule
from starcast.trees import Forest
from support.packs.loading import SPECS, forests, schedules

Case = Mapping[str, Any]
Row = dict[str, Any]
Label = str

SYMBOLS = "123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Oracle:
    """The parameters to ask a query with, and what the rows have to be for each."""

    cases: tuple[Case, ...]
    rows: Callable[..., list[Row]]
    #: Where several answers are right: refuses a wrong one. Else the rows have to be those of ``rows``, in their order.
    judge: Callable[[Case, list[Row]], None] | None = None
    #: The topologies that the question makes sense on, and on each of which there is a case.
    specs: tuple[str, ...] = SPECS


ORACLES: dict[str, Oracle] = {}


def oracle(
    name: str,
    cases: Iterable[Case],
    *,
    judge: Callable[[Case, list[Row]], None] | None = None,
    specs: Sequence[str] = SPECS,
) -> Callable[[Callable[..., list[Row]]], Callable[..., list[Row]]]:
    """Make the function below the oracle of the query of that name: parameters in, rows out."""

    def register(rows: Callable[..., list[Row]]) -> Callable[..., list[Row]]:
        ORACLES[name] = Oracle(tuple(cases), rows, judge, tuple(specs))
        return rows

    return register


# The graph, by the labels alone.


@cache
def sizes(spec: str) -> tuple[int, int | None]:
    """The numbers in the name of a topology: n and k of S_{n,k}; n of S_n and d of Q_d, and None."""
    first, *second = (int(number) for number in spec[1:].split(","))
    return first, second[0] if second else None


@cache
def labels(spec: str) -> list[Label]:
    """All nodes in rank order."""
    n, k = sizes(spec)
    words = product("01", repeat=n) if spec.startswith("Q") else permutations(SYMBOLS[:n], k)
    return sorted("".join(word) for word in words)


@cache
def ranks(spec: str) -> dict[Label, int]:
    """The place of every node in that order."""
    return {label: rank for rank, label in enumerate(labels(spec))}


def ports(spec: str) -> range:
    """The ports of a node: 2..n in S_n and S_{n,k}, 1..d in Q_d."""
    n, _ = sizes(spec)
    return range(1, n + 1) if spec.startswith("Q") else range(2, n + 1)


def across(spec: str, label: Label, port: int) -> Label:
    """The node across that port.

    In Q_d the bit at that position is flipped. In S_n and S_{n,k} positions 1 and ``port`` are exchanged, if there is such a
    position; the residual port k+s leads s places on, cyclically, among the sorted symbols that may stand first.
    """
    n, k = sizes(spec)
    if spec.startswith("Q"):
        return label[: port - 1] + "10"[int(label[port - 1])] + label[port:]
    if k is None or port <= k:
        return label[port - 1] + label[1 : port - 1] + label[0] + label[port:]
    clique = [symbol for symbol in SYMBOLS[:n] if symbol not in label[1:]]
    return clique[(clique.index(label[0]) + port - k) % len(clique)] + label[1:]


def port_between(spec: str, here: Label, there: Label) -> int | None:
    """The port of the first node that leads to the second; None if they are not adjacent."""
    return next((port for port in ports(spec) if across(spec, here, port) == there), None)


def crossed(spec: str, nodes: Sequence[Label]) -> list[int | None]:
    """The port that each hop of a path leaves by."""
    return [port_between(spec, here, there) for here, there in pairwise(nodes)]


@cache
def distances(spec: str, source: Label) -> dict[Label, int]:
    """The distance of every node, by breadth-first search."""
    found = {source: 0}
    queue = deque([source])
    while queue:
        here = queue.popleft()
        for there in (across(spec, here, port) for port in ports(spec)):
            if there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return found


# The forests, by their arrays, a tree and a node at a time.


def spec_of(name: str) -> str:
    """The topology of a forest or a schedule, by its id."""
    return name.partition(":")[0]


@cache
def by_id(name: str) -> Forest:
    """The forest of that id."""
    return next(forest for forest in forests(spec_of(name)) if forest.id == name)


def root(forest: Forest) -> Label:
    """The common root."""
    return labels(forest.topology.spec)[forest.root]


@cache
def parents(forest: Forest, tree: int) -> dict[Label, Label]:
    """The parent of each node of a tree but the root."""
    spec = forest.topology.spec
    row = zip(labels(spec), forest.parent_port[tree], strict=True)
    return {label: across(spec, label, int(port)) for label, port in row if port}


def parent(forest: Forest, tree: int, label: Label) -> Label | None:
    """The parent; None at the root and outside the tree."""
    return parents(forest, tree).get(label)


def to_root(forest: Forest, tree: int, label: Label) -> list[Label]:
    """The chain of parents from a node; the node alone where it is not in the tree."""
    chain = [label]
    while (above := parent(forest, tree, chain[-1])) is not None:
        chain.append(above)
    return chain


@cache
def levels(forest: Forest, tree: int) -> dict[Label, int]:
    """The level of every node of a tree, the root among them."""
    chains = (to_root(forest, tree, label) for label in (root(forest), *parents(forest, tree)))
    return {chain[0]: len(chain) - 1 for chain in chains}


@cache
def children(forest: Forest, tree: int) -> dict[Label, list[Label]]:
    """The children of every node of a tree in rank order; of a leaf none."""
    found: dict[Label, list[Label]] = {label: [] for label in levels(forest, tree)}
    for child, above in parents(forest, tree).items():
        found[above].append(child)
    return found


@cache
def users(forest: Forest) -> dict[tuple[Label, int], list[int]]:
    """For each directed link that trees use, as the parent and its port, the trees."""
    spec = forest.topology.spec
    found: dict[tuple[Label, int], list[int]] = {}
    for tree in range(forest.trees):
        for child, above in parents(forest, tree).items():
            port = port_between(spec, above, child)
            assert port is not None
            found.setdefault((above, port), []).append(tree)
    return found


# The schedules, a row at a time.


class Send(NamedTuple):
    """A row of a schedule."""

    step: int
    sender: Label
    port: int
    receiver: Label
    tree: int
    unit: int


@cache
def plan(name: str) -> Schedule:
    """The schedule of that id."""
    return next(schedule for schedule in schedules(spec_of(name)) if schedule.id == name)


@cache
def sends(name: str) -> list[Send]:
    """The rows of the schedule of that id, by step, sender, port, tree and unit."""
    planned = plan(name)
    every = labels(spec_of(name))
    columns = (
        planned.step,
        planned.sender,
        planned.port,
        planned.receiver,
        planned.tree,
        planned.unit,
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return sorted(
        Send(step, every[sender], port, every[receiver], tree, unit)
        for step, sender, port, receiver, tree, unit in rows
    )


# Cases.


def some(spec: str) -> list[Label]:
    """A few nodes: the first, the last, one between."""
    every = labels(spec)
    return list(dict.fromkeys([every[0], every[-1], every[len(every) // 3]]))


def pairs(spec: str) -> list[tuple[Label, Label]]:
    """From the first to itself and to the last, from the last to the one between."""
    first, *_, last = labels(spec)
    return list(dict.fromkeys([(first, first), (first, last), (last, some(spec)[-1])]))


def of_forests(*specs: str, **others: Any) -> list[Case]:
    """Every forest, of these topologies or of all, with the other parameters given."""
    return [{"forest": forest.id, **others} for spec in specs or SPECS for forest in forests(spec)]


def of_two_forests() -> list[Case]:
    """Every forest with the next one of its topology, the last with the first."""
    return [
        {"forest": one.id, "other_forest": other.id}
        for spec in SPECS
        for one, other in zip(forests(spec), (*forests(spec)[1:], forests(spec)[0]), strict=True)
    ]


def of_schedules(*specs: str, **others: Any) -> list[Case]:
    """Every schedule, of these topologies or of all, with the other parameters given."""
    return [
        {"schedule": schedule.id, **others}
        for spec in specs or SPECS
        for schedule in schedules(spec)
    ]


def of_nodes() -> list[Case]:
    """A few nodes of every topology."""
    return [{"topology": spec, "node": node} for spec in SPECS for node in some(spec)]


def of_pairs(one: str, other: str) -> list[Case]:
    """A few pairs of nodes of every topology."""
    return [
        {"topology": spec, one: first, other: second}
        for spec in SPECS
        for first, second in pairs(spec)
    ]
