"""Tools for the query-pack oracles: a registry, and functions on topologies and stored artifacts.

Links of topologies are computed from node labels by definition, without code of starcast, except
for the topologies in `support.irregular`. Forests and schedules are read from starcast's arrays.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx

from oracles import cayley_graphs, hypercube, nk_star, star_graph
from starcast.collectives import Schedule
from starcast.topologies import topology
from starcast.trees import Forest
from support import irregular
from support.packs.stored_data import SPECS, forests, schedules

Case = Mapping[str, Any]
Row = dict[str, Any]
#: The values of a row, in the order of the columns.
Values = tuple[Any, ...]
Label = str


@dataclass(frozen=True)
class Oracle:
    """The expected results of a query, for several parameter sets.

    Attributes:
        cases: the parameter sets to run the query with.
        rows: returns the expected rows for a parameter set.
        judge: checks a result if several are valid; None if the result must equal ``rows``.
        specs: the topologies to which the query applies; each is in at least one parameter set.
    """

    cases: tuple[Case, ...]
    rows: Callable[..., list[Row]]
    judge: Callable[[Case, list[Row]], None] | None = None
    specs: tuple[str, ...] = SPECS


ORACLES: dict[str, Oracle] = {}


def oracle(
    name: str,
    columns: str,
    cases: Iterable[Case],
    *,
    order: str = "",
    judge: Callable[[Case, list[Row]], None] | None = None,
    specs: Sequence[str] = SPECS,
) -> Callable[[Callable[..., Iterable[Values]]], Callable[..., list[Row]]]:
    """Register the decorated function as the oracle of a query.

    The function maps parameters to tuples of values. It is replaced by a function that returns
    rows.

    `Oracle` describes the other arguments.

    Args:
        name: the name of the query.
        columns: the names of the columns, in the order of the values.
        order: the columns by which rows are sorted; a leading minus means descending order.
    """
    names = columns.split()
    keys = [(key.removeprefix("-"), -1 if key.startswith("-") else 1) for key in order.split()]

    def register(function: Callable[..., Iterable[Values]]) -> Callable[..., list[Row]]:
        @wraps(function)
        def rows(*arguments: Any, **case: Any) -> list[Row]:
            found = [dict(zip(names, row, strict=True)) for row in function(*arguments, **case)]
            return sorted(
                found, key=lambda row: [row[key] if sign > 0 else -row[key] for key, sign in keys]
            )

        ORACLES[name] = Oracle(tuple(cases), rows, judge, tuple(specs))
        return rows

    return register


@cache
def sizes(spec: str) -> tuple[int, int | None]:
    """Return the numbers in a topology's name; the second is None except for ``Sn,k``."""
    first, *second = (int(number) for number in spec.lstrip("SQAG").split(","))
    return first, second[0] if second else None


@cache
def labels(spec: str) -> list[Label]:
    """Return the labels of all nodes in rank order."""
    if spec in irregular.ALL:
        return list(map(str, topology(spec).labels()))
    n, k = sizes(spec)
    if spec.startswith("Q"):
        return hypercube.nodes(n)
    every = [star_graph.label(node) for node in nk_star.nodes(n, n if k is None else k)]
    if spec.startswith("AG"):  # the even permutations
        return sorted(cayley_graphs.search(every[0], cayley_graphs.alternating_group))
    return every


@cache
def ranks(spec: str) -> dict[Label, int]:
    """Return the rank of every node."""
    return {label: rank for rank, label in enumerate(labels(spec))}


def ports(spec: str) -> range:
    """Return the port numbers of a topology's nodes."""
    if spec in irregular.ALL:
        return range(1, len(topology(spec).ports) + 1)
    n, _ = sizes(spec)
    if spec.startswith("AG"):
        return range(2, 2 * n - 2)
    return range(1, n + 1) if spec.startswith("Q") else range(2, n + 1)


def across(spec: str, label: Label, port: int) -> Label:
    """Return the neighbour of a node across a port, or the node itself if the port has no link.

    In AG_n, ports 2 and 3 rotate the symbols in positions 1, 2 and 3, ports 4 and 5 those in
    positions 1, 2 and 4, and so on: even ports to the left, and odd ports to the right.
    """
    if spec in irregular.ALL:
        return labels(spec)[int(topology(spec).neighbours(port)[ranks(spec)[label]])]
    if spec.startswith("AG"):
        turned = list(cayley_graphs.alternating_group(label))
        return turned[(port - 2) ^ 1]
    if spec.startswith("Q"):
        return hypercube.flip(label, port)
    n, _ = sizes(spec)
    return star_graph.label(nk_star.across(star_graph.node_of(label), port, n))


def linked(spec: str, label: Label) -> list[tuple[int, Label]]:
    """Return the ports at which a node has a link, each with the neighbour across it."""
    every = ((port, across(spec, label, port)) for port in ports(spec))
    return [(port, other) for port, other in every if other != label]


def port_between(spec: str, sender: Label, receiver: Label) -> int | None:
    """Return the sender's port that leads to the receiver, or None if they are not adjacent."""
    if sender == receiver:
        return None
    return next((port for port in ports(spec) if across(spec, sender, port) == receiver), None)


def path_ports(spec: str, nodes: Sequence[Label]) -> list[int | None]:
    """Return the sender's port for each hop of a path."""
    return [port_between(spec, sender, receiver) for sender, receiver in pairwise(nodes)]


@cache
def network(spec: str) -> nx.Graph:
    """Return a topology as a NetworkX graph."""
    links = ((node, across(spec, node, port)) for node in labels(spec) for port in ports(spec))
    return nx.Graph(link for link in links if link[0] != link[1])


@cache
def distances(spec: str, source: Label) -> dict[Label, int]:
    """Return the distance of every node from one node."""
    return dict(nx.single_source_shortest_path_length(network(spec), source))


def spec_of(name: str) -> str:
    """Return the name of the topology in the id of a forest or schedule."""
    return name.partition(":")[0]


@cache
def forest_by_id(name: str) -> Forest:
    """Return the stored forest with this id."""
    return next(forest for forest in forests(spec_of(name)) if forest.id == name)


def trees_of(forest: str) -> range:
    """Return the numbers of the trees of a forest."""
    return range(forest_by_id(forest).trees)


def root(forest: str) -> Label:
    """Return the label of the root of a forest."""
    return labels(spec_of(forest))[forest_by_id(forest).root]


@cache
def parents(forest: str, tree: int) -> dict[Label, Label]:
    """Return the parent of each node of a tree except the root."""
    spec = spec_of(forest)
    row = zip(labels(spec), forest_by_id(forest).parent_port[tree], strict=True)
    return {label: across(spec, label, int(port)) for label, port in row if port}


def parent(forest: str, tree: int, label: Label) -> Label | None:
    """Return the parent of a node; None at the root and outside the tree."""
    return parents(forest, tree).get(label)


def to_root(forest: str, tree: int, label: Label) -> list[Label]:
    """Return the path from a node to the root, or only the node if it is not in the tree."""
    chain = [label]
    while (above := parent(forest, tree, chain[-1])) is not None:
        chain.append(above)
    return chain


@cache
def levels(forest: str, tree: int) -> dict[Label, int]:
    """Return the level of every node of a tree, including the root."""
    chains = (to_root(forest, tree, label) for label in (root(forest), *parents(forest, tree)))
    return {chain[0]: len(chain) - 1 for chain in chains}


@cache
def children(forest: str, tree: int) -> dict[Label, list[Label]]:
    """Return the children of every node of a tree in rank order."""
    result: dict[Label, list[Label]] = {label: [] for label in levels(forest, tree)}
    for child, above in parents(forest, tree).items():
        result[above].append(child)
    return result


@cache
def descendants(forest: str, tree: int) -> Counter[Label]:
    """Return, for each node of the topology, the number of its descendants in a tree."""
    return Counter(
        above for label in parents(forest, tree) for above in to_root(forest, tree, label)[1:]
    )


@cache
def trees_by_link(forest: str) -> dict[tuple[Label, int], list[int]]:
    """Return the trees that use each directed link, by sender and port of the link."""
    trees: dict[tuple[Label, int], list[int]] = {}
    for tree in trees_of(forest):
        for child, above in parents(forest, tree).items():
            port = port_between(spec_of(forest), above, child)
            assert port is not None
            trees.setdefault((above, port), []).append(tree)
    return trees


class Send(NamedTuple):
    """A row of a schedule, with labels instead of ranks."""

    step: int
    sender: Label
    port: int
    receiver: Label
    tree: int
    unit: int
    combine: bool = False


@cache
def schedule_by_id(name: str) -> Schedule:
    """Return the stored schedule with this id."""
    return next(schedule for schedule in schedules(spec_of(name)) if schedule.id == name)


@cache
def sends(name: str) -> list[Send]:
    """Return the rows of a schedule, sorted by step, sender, port, tree and unit."""
    schedule = schedule_by_id(name)
    every = labels(spec_of(name))
    rows = zip(*(column.tolist() for column in schedule.columns.present().values()), strict=True)
    return sorted(
        Send(step, every[sender], port, every[receiver], *others)
        for step, sender, port, receiver, *others in rows
    )


def some_nodes(spec: str) -> list[Label]:
    """Return the first node, the last node, and a node between them."""
    every = labels(spec)
    return list(dict.fromkeys([every[0], every[-1], every[len(every) // 3]]))


def some_pairs(spec: str) -> list[tuple[Label, Label]]:
    """Return three node pairs: (first, first), (first, last), and (last, a node between them)."""
    first, *_, last = labels(spec)
    return list(dict.fromkeys([(first, first), (first, last), (last, some_nodes(spec)[-1])]))


def forest_cases(*specs: str, **others: Any) -> list[Case]:
    """Return a case per forest on the given topologies (default: all), with the given values."""
    return [{"forest": forest.id, **others} for spec in specs or SPECS for forest in forests(spec)]


def forest_pair_cases() -> list[Case]:
    """Return cases with pairs of consecutive forests on a topology, including (last, first)."""
    return [
        {"forest": first.id, "other_forest": second.id}
        for spec in SPECS
        for first, second in zip(forests(spec), (*forests(spec)[1:], forests(spec)[0]), strict=True)
    ]


def schedule_cases(*specs: str, **others: Any) -> list[Case]:
    """Return a case per schedule on the given topologies (default: all), with the given values."""
    return [{"schedule": plan.id, **others} for spec in specs or SPECS for plan in schedules(spec)]


def forest_node_cases() -> list[Case]:
    """Return a case for each of a few nodes, including the root, of every forest."""
    return [
        {"forest": forest.id, "node": node}
        for spec in SPECS
        for forest in forests(spec)
        for node in dict.fromkeys([*some_nodes(spec), root(forest.id)])
    ]


def topology_node_cases() -> list[Case]:
    """Return cases for a few nodes of every topology."""
    return [{"topology": spec, "node": node} for spec in SPECS for node in some_nodes(spec)]


def node_pair_cases() -> list[Case]:
    """Return cases for a few (source, target) pairs on every topology."""
    return [
        {"topology": spec, "source": source, "target": target}
        for spec in SPECS
        for source, target in some_pairs(spec)
    ]
