"""The schedules of the papers' algorithms, compared with oracles that list the rows one by one."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import pytest

from oracles import (
    allgather,
    hypercube,
    nk_star,
    recursive_substar,
    scatter,
    star_graph,
)
from oracles import edge_disjoint_schedules as copies
from oracles.schedule_rows import Row, backwards, by_dimension, pipelined
from starcast.collectives import algorithms, schedule
from starcast.collectives.algorithm import Algorithm, find_algorithm
from starcast.topologies import Topology, topology
from starcast.trees import forest
from starcast.trees.construction import single_trees
from support.meeting import places, plain_rows, tree_of
from unit.test_constructions import ORACLES as TREES

#: A function that takes topology, root, port model and arguments, and returns rows. In these rows,
#: units are numbers.
Oracle = Callable[..., Collection[Row]]


def along_trees(
    construction: str, network: Topology, root: Any, ports: str, segments: int
) -> set[Row]:
    """Return the rows of a broadcast that pipelines its segments along the oracle's trees.

    In the one-port model, each step is divided into one sub-step per port.
    """
    trees = TREES[network.family][construction](root, network.n)
    units = [range(tree * segments, (tree + 1) * segments) for tree in range(len(trees))]
    rows = pipelined(trees, root, units, PORT_BETWEEN[network.family](network.n))
    return by_dimension(rows, network.ports) if ports == "one" else rows


PORT_BETWEEN: dict[str, Callable[[int], Callable[[Any, Any], int]]] = {
    "star": lambda _: star_graph.dimension_between,
    "nk-star": lambda n: lambda one, other: nk_star.port_between(one, other, n),
    "hypercube": lambda _: hypercube.port_between,
}


def substars(network: Topology, root: Any, ports: str, messages: int) -> Collection[Row]:
    """Return the rows of a broadcast along the recursive-substar tree."""
    if ports == "one":
        rows = recursive_substar.one_port(root, messages)
        return [row._replace(unit=row.unit[1]) for row in rows]
    return along_trees("recursive-substar", network, root, ports, messages)


def of_source(rows: Callable[..., Collection[Row]]) -> Oracle:
    """Turn a function of root, messages and, optionally, copies into an `Oracle`."""
    return lambda _network, root, _ports, messages=1, **more: rows(root, messages, *more.values())


def of_identity(rows: Callable[[int, int], Collection[Row]]) -> Oracle:
    """Turn a function of n and messages into an `Oracle`.

    The function returns the rows of one source, the identity.
    """
    return lambda network, _root, _ports, messages: rows(network.n, messages)


def dimension_changed(network: Topology, _root: Any, ports: str, base: str) -> Collection[Row]:
    """Return the rows of Algorithm 2 of Tseng & Sheu 1997 for the source identity.

    See A5 in docs/definitions/tseng-sheu.md.
    """
    tree = tree_of(forest(network, base).parent_port[0], network.n)
    rows = allgather.algorithm_2(tree, network.n)
    return by_dimension(rows, network.ports) if ports == "one" else rows


def translated(construction: str, network: Topology, root: Any, ports: str) -> Collection[Row]:
    """Return the rows of an allgather on an (n,k)-star.

    In the one-port model, the rows of all sources are returned if translations change ports.
    Otherwise, the rows of one source are sufficient.
    """
    nodes = places(network)
    trees = TREES["nk-star"][construction](nodes[0], network.n)
    if ports == "all" or network.translation_keeps_ports:
        rows = allgather.nk_source(trees, root, network.n)
        rows = {row._replace(unit=row.unit[1]) for row in rows}
    else:
        rows = numbered(allgather.nk_all_sources(trees, network.n), nodes, len(trees))
    return by_dimension(rows, network.ports) if ports == "one" else rows


def numbered(rows: Collection[Row], nodes: Sequence[Any], units: int) -> set[Row]:
    """Return the rows with units that are numbered over all sources.

    In the given rows, a unit is a pair of its source and its number among the units of this source.
    """
    first = {source: number * units for number, source in enumerate(nodes)}
    return {row._replace(unit=first[row.unit[0]] + row.unit[1]) for row in rows}


SEGMENTED = ("greedy", "multiple", "nk-greedy", "nk-multiple", "binomial")
ALLGATHERS = {
    "rotated-hamiltonian": allgather.rotated_hamiltonian,
    "necklace": allgather.mbst_copies,
    "hamiltonian-cycle": allgather.cycle,
}
ORACLES: dict[tuple[str, str], Oracle] = {
    **{("broadcast", name): partial(along_trees, name) for name in SEGMENTED},
    ("broadcast", "recursive-substar"): substars,
    ("broadcast", "edge-disjoint"): of_source(copies.broadcast),
    ("allgather", "edge-disjoint"): of_source(copies.allgather),
    ("scatter", "edge-disjoint"): of_source(copies.scatter),
    ("alltoall", "edge-disjoint"): of_source(copies.alltoall),
    ("broadcast", "edge-disjoint-binomial"): of_source(copies.broadcast_on_cube),
    **{("allgather", name): of_identity(rows) for name, rows in ALLGATHERS.items()},
    **{
        ("scatter", name): of_source(partial(scatter.scatter, name))
        for name in ("balanced", "near-balanced", "perfectly-balanced", "one-port")
    },
    ("allgather", "dimension-change"): dimension_changed,
    **{("allgather", name): partial(translated, name) for name in ("nk-greedy", "nk-multiple")},
    **{("alltoall", name): of_source(rows) for name, rows in scatter.EXCHANGED.items()},
}
#: Algorithms without an oracle in this module. Other tests check their schedules.
WITHOUT_ORACLE = {
    ("alltoall", "exact"), ("allgather", "ring"), ("allgather", "binomial"),
    ("broadcast", "optimal"), ("broadcast", "substar-doubling"), ("broadcast", "symbol-doubling"),
    ("broadcast", "optimal-substars"), ("allgather", "hamiltonian-decomposition"),
    *((collective, "forest") for collective in ("broadcast", "allgather", "scatter")),
    *((collective, "greedy") for collective in ("allgather", "scatter", "alltoall")),
    ("broadcast", "greedy-matching"),
}  # fmt: skip


class Case(NamedTuple):
    """An algorithm on a topology in a port model."""

    spec: str
    collective: str
    algorithm: str
    ports: str


def cases(*specs: str) -> list[Case]:
    """Return all algorithms with an oracle on these topologies.

    The algorithms come from the tables of this module, not from the code under test.
    """
    return [
        Case(spec, *key, ports)
        for spec in specs
        for key in ORACLES
        if family_of(key[1]) == topology(spec).family
        for ports in ports_of(key[1])
        # A one-port allgather on S6,3 has the rows of 120 sources, which take too long to list.
        if (spec, key[0]) != ("S6,3", "allgather")
        # These algorithms are defined only for n >= 3.
        if spec != "S2"
        or not (key[1] == "perfectly-balanced" or (key[0] == "allgather" and key[1] in ALLGATHERS))
    ]


def family_of(algorithm: str) -> str:
    """Return the family of topologies on which an algorithm is defined."""
    if algorithm.startswith("nk-"):
        return "nk-star"
    return "hypercube" if "binomial" in algorithm else "star"


def ports_of(algorithm: str) -> tuple[str, ...]:
    """Return the port models of an algorithm."""
    if algorithm in (*SEGMENTED, "recursive-substar", "dimension-change"):
        return ("all", "one")
    return ("one",) if algorithm in {"hamiltonian-cycle", "one-port"} else ("all",)


#: `make test` runs the first case of a test and one other case. The first topology is S4, because
#: several algorithms are equal on smaller stars.
SMALL = (
    *("S4", "S2", "S3"),
    *(f"S{n},{k}" for n in range(2, 5) for k in range(1, n)),
    *("Q1", "Q2", "Q3", "Q4"),
)
LARGE = ("S5", "S6", "S5,1", "S5,2", "S5,3", "S5,4", "S6,2", "S6,3", "Q5")


def arguments_on(network: Topology, entry: Algorithm) -> Iterator[dict[str, Any]]:
    """Yield combinations of an algorithm's arguments. Large topologies get fewer combinations."""
    degree = network.degree
    names = [argument.name for argument in entry.arguments]
    messages = {1} if "copies" in names else {1, degree}
    bases = single_trees(network) if network.nodes <= 120 else ("greedy",)
    choices: dict[str, Collection[Any]]
    choices = {"segments": {2}, "messages": messages, "copies": {1, degree}, "base": bases}
    if network.nodes <= 24:
        messages |= {1, 2, degree, degree + 1, 2 * degree}
        choices |= {"segments": {1, 3}, "copies": set(range(1, degree + 1))}
    for values in product(*(choices[name] for name in names)):
        arguments = dict(zip(names, values, strict=True))
        # perfectly-balanced needs a multiple of n-1 messages.
        if entry.name != "perfectly-balanced" or arguments["messages"] % degree == 0:
            yield arguments


@pytest.mark.whole
@pytest.mark.parametrize("case", cases("S4", "S4,2", "Q3"), ids=":".join)
def test_schedules_on_three_topologies_have_the_rows_of_the_oracle(case: Case) -> None:
    """An oracle lists the rows of a schedule one by one, without the code under test."""
    assert_rows_equal_those_of_the_oracle(case)


@pytest.mark.parametrize("case", cases(*SMALL, *LARGE), ids=":".join)
def test_schedules_on_small_and_large_topologies_have_the_rows_of_the_oracle(case: Case) -> None:
    """An oracle lists the rows of a schedule one by one, without the code under test."""
    assert_rows_equal_those_of_the_oracle(case)


def assert_rows_equal_those_of_the_oracle(case: Case) -> None:
    """Compare the rows of schedules with those of the oracle, for some roots and arguments.

    A gather is compared with the reversed scatter.
    """
    network, key = topology(case.spec), (case.collective, case.algorithm)
    last = network.nodes - 1
    ranks = sorted({0, last // 3, last}) if network.nodes <= 24 else [last]
    if case.collective == "allgather" and case.algorithm in (*ALLGATHERS, "dimension-change"):
        ranks = [0]
    for arguments, rank in product(arguments_on(network, find_algorithm(*key)), ranks):
        root = places(network)[rank]
        built = schedule(network, *key, case.ports, rank, **arguments)
        expected = sorted(ORACLES[key](network, root, case.ports, **arguments))
        assert sorted(plain_rows(built)) == expected
        assert len(built) == find_algorithm(*key).count(network, case.ports, arguments)
        if case.collective == "scatter":
            gather = schedule(network, "gather", case.algorithm, case.ports, rank, **arguments)
            assert sorted(plain_rows(gather)) == sorted(backwards(expected))


def test_every_shipped_algorithm_has_an_oracle_or_is_listed_as_an_exception() -> None:
    """Only broadcast, allgather, scatter and alltoall need oracles.

    The other collectives are derived from these.
    """
    shipped = {
        (entry.collective, entry.name)
        for collective in ("broadcast", "allgather", "scatter", "alltoall")
        for entry in algorithms(collective)
        if entry.origin.is_shipped
    }
    assert shipped == ORACLES.keys() | WITHOUT_ORACLE
    assert all(find_algorithm(*key).ports == ports_of(key[1]) for key in ORACLES)
