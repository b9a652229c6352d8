"""Constructions of the papers, compared with oracles that build the trees node by node."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import (
    allgather_trees,
    edge_disjoint,
    hypercube,
    nk_star,
    recursive_substar,
    rooted_trees,
    scatter_trees,
    star_graph,
    tseng_sheu,
)
from starcast.topologies import Topology, topology
from starcast.topologies.necklaces import displacements
from starcast.trees import Forest, constructions, forest
from starcast.trees.construction import CONSTRUCTIONS, count_edges, translate_ports
from starcast.trees.multinode import cycle_word, path_word, phase_2_ports, walk
from support.meeting import places, refused

#: A function that takes the root and n, and returns trees. Each tree is a dictionary from nodes to
#: parents.
Oracle = Callable[[Any, int], Sequence[dict[Any, Any]]]

STARS: dict[str, Oracle] = {
    "greedy": lambda root, _: [tseng_sheu.greedy(root)],
    "multiple": lambda root, _: tseng_sheu.multiple(root),
    "recursive-substar": lambda root, _: [recursive_substar.broadcast_tree(root)],
    "rotated-hamiltonian": lambda root, n: [
        rooted_trees.translated(allgather_trees.rotated_tree(n), root)
    ],
    "necklace": lambda root, n: [rooted_trees.translated(allgather_trees.mbst(n).tree, root)],
    "hamiltonian-cycle": lambda root, n: [
        rooted_trees.translated(allgather_trees.cycle_tree(n), root)
    ],
    "balanced": lambda root, _: [scatter_trees.balanced(root)],
    "near-balanced": lambda root, _: [scatter_trees.near_balanced(root)],
    "perfectly-balanced": lambda root, _: scatter_trees.perfectly_balanced(root),
    "shortest-path": lambda root, _: edge_disjoint.spt(root),
    "shortest-path-graph": lambda root, _: edge_disjoint.spg(root),
    "edge-disjoint": lambda root, _: edge_disjoint.edt(root),
}
NK_STARS: dict[str, Oracle] = {
    "nk-greedy": lambda root, n: [nk_star.greedy(root, n)],
    "nk-multiple": nk_star.multiple,
}
CUBES: dict[str, Oracle] = {
    "binomial": lambda root, d: [hypercube.binomial(root, range(1, d + 1))],
    "edge-disjoint-binomial": lambda root, _: hypercube.edge_disjoint_binomial(root),
}
ORACLES = {"star": STARS, "nk-star": NK_STARS, "hypercube": CUBES}
#: Constructions without an oracle: their trees are derived from others, or found by searches.
WITHOUT_ORACLE = {
    "label-change", "dimension-change", "optimal-edge-disjoint", "breadth-first", "arc-disjoint",
}  # fmt: skip
SHORTEST = {
    "greedy", "necklace", "balanced", "near-balanced", "perfectly-balanced", "shortest-path",
    "nk-greedy", "binomial",
}  # fmt: skip
EDGE_DISJOINT = {
    "shortest-path-graph", "edge-disjoint", "perfectly-balanced", "edge-disjoint-binomial"
}  # fmt: skip

#: `make test` runs the first case of a test and one other case. The first topology is S5, because
#: another test always covers S4.
SPECS = (
    *("S5", "S2", "S3", "S4", "S6", "S7"),
    *(f"S{n},{k}" for n in range(2, 8) for k in range(1, n)),
    *(f"Q{d}" for d in range(1, 9)),
)


class Case(NamedTuple):
    """A construction on a topology."""

    spec: str
    name: str


def cases(*specs: str) -> list[Case]:
    """Return all constructions with an oracle on these topologies."""
    return [
        Case(spec, name)
        for spec in specs
        for name in ORACLES[topology(spec).family]
        if (spec, name) != ("S2", "perfectly-balanced")
    ]


def some_roots(network: Topology) -> list[int]:
    """Return the ranks of the identity and of three other nodes.

    On star graphs, the cyclic shifts of the identity are added. On more than 1000 nodes, only two
    ranks are returned, because the oracles are slow.
    """
    last = network.nodes - 1
    if network.nodes > 1000:
        return [0, last // 3]
    shifts = star_graph.cyclic_roots(network.n) if network.family == "star" else []
    ranks = [network.rank(star_graph.label(root)) for root in shifts]
    return list(dict.fromkeys([0, *ranks, last, last // 3, last // 2]))


@pytest.mark.whole
@pytest.mark.parametrize("case", cases("S4", "S5", "S4,2", "S5,3", "Q3"), ids=":".join)
def test_small_trees_follow_their_definition(case: Case) -> None:
    assert_follows_the_definition(case)


@pytest.mark.parametrize("case", cases(*SPECS), ids=":".join)
def test_trees_on_many_topologies_follow_their_definition(case: Case) -> None:
    assert_follows_the_definition(case)


def assert_follows_the_definition(case: Case) -> None:
    """Compare a forest with the oracle's trees for some roots, and verify it."""
    network = topology(case.spec)
    nodes = places(network)
    ranks = {node: rank for rank, node in enumerate(nodes)}
    for root in some_roots(network):
        trees = ORACLES[network.family][case.name](nodes[root], network.n)
        built = forest(network, case.name, root=network.label(root))
        assert built.parents().tolist() == [
            [ranks[tree[node]] if node in tree else -1 for node in nodes] for tree in trees
        ]
        assert built.id == f"{case.spec}:{case.name}:{network.label(root)}"
        assert built.root == root
        assert built.parent_port.dtype == np.uint8
        assert built.trees == CONSTRUCTIONS[case.name].count_trees(network)
        assert built.spanning != CONSTRUCTIONS[case.name].partial
        assert int((built.sizes - 1).sum()) == count_edges(network, case.name)
        assert_has_its_properties(built)


def assert_has_its_properties(built: Forest) -> None:
    """Verify that a forest is valid and has the known properties of its construction.

    These are shortest paths and edge-disjoint trees.
    """
    built.verify()
    assert built.is_shortest_path or built.construction not in SHORTEST
    assert built.is_edge_disjoint or built.construction not in EDGE_DISJOINT


@given(st.sampled_from(cases("S3", "S4", "S5", "S6", "S4,2", "S5,3", "S6,3", "Q5")), st.data())
def test_changing_the_root_translates_the_trees(case: Case, data: st.DataObject) -> None:
    """The automorphism that maps the identity to the new root also maps the trees."""
    network = topology(case.spec)
    root = data.draw(st.integers(0, network.nodes - 1))
    at_identity, translated = (forest(network, case.name, root=rank) for rank in (0, root))
    rows = translate_ports(network, at_identity.parent_port, root)
    assert np.array_equal(translated.parent_port, rows)
    translated.verify()


LARGE = cases("S8", "S9", "S9,5", "S20,3", "S35,2", "Q16")


@pytest.mark.parametrize("case", LARGE, ids=":".join)
def test_large_trees_at_a_distant_root_have_the_known_properties(case: Case) -> None:
    """The reference is the translated forest at the identity, because oracles are too slow."""
    network = topology(case.spec)
    root = network.nodes - 2
    built = forest(network, case.name, root=root)
    assert_has_its_properties(built)
    at_identity = forest(network, case.name).parent_port
    assert np.array_equal(built.parent_port, translate_ports(network, at_identity, root))


def test_every_shipped_construction_has_an_oracle_or_is_listed_as_an_exception() -> None:
    named = {name for names in ORACLES.values() for name in names}
    assert set(constructions()) >= named | WITHOUT_ORACLE
    shipped = {name for name, entry in CONSTRUCTIONS.items() if entry.origin.is_shipped}
    assert shipped == named | WITHOUT_ORACLE


@pytest.mark.parametrize("spec", ["S4", "S4,2", "Q3"])
def test_constructions_are_refused_on_families_for_which_they_are_undefined(spec: str) -> None:
    for family, names in ORACLES.items():
        for name in names:
            if family != topology(spec).family:
                with refused(name, "not defined on", spec):
                    forest(spec, name)


def test_displacements_of_nodes_in_necklaces_follow_the_definition() -> None:
    """S_6 is tested because several nodes of a necklace can have the same smallest cycle there."""
    for n in (5, 6):
        expected = [scatter_trees.displacement(x) for x in star_graph.nodes(n)[1:]]
        assert displacements(n).tolist() == [0, *expected]


def test_hamiltonian_paths_and_cycles_of_star_graphs_follow_the_definitions() -> None:
    """The path is that of Ehrlich's Algorithm E, which the oracle executes literally."""
    for n in range(1, 9):
        assert path_word(n).tolist() == allgather_trees.ehrlich(n)
    for n in range(2, 9):
        assert cycle_word(n).tolist() == allgather_trees.cycle_types(n)
    for n in range(2, 8):
        first = [x for x in star_graph.nodes(n) if x[0] == 1]
        assert phase_2_ports(n).tolist() == [x.index(n) + 1 for x in first]


def test_hamiltonian_paths_and_cycles_of_s9_visit_every_node_once() -> None:
    path, cycle = walk(9, path_word(9)), walk(9, cycle_word(9))
    every = np.arange(topology("S9").nodes)
    assert np.array_equal(np.sort(path), every)
    assert np.array_equal(np.sort(cycle[:-1]), every)
    assert cycle[0] == cycle[-1] == 0
