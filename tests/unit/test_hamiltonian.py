"""Hamiltonian paths and cycles of S_n, and trees made from them (Fragopoulou & Akl 1993, 3.1, 4).

Sections A1 to A4 and the pitfalls are in docs/definitions/fragopoulou-akl.md. The type of a link is
its dimension; a word is the list of types along a path. In an allgather along the tree of rotated
Hamiltonian paths, phase 1 follows these paths, and phase 2 sends to the nodes with first symbol 1.
"""

from collections import Counter
from collections.abc import Iterator
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import allgather_trees as page
from oracles import rooted_trees, star_graph
from oracles.rotation import necklace
from oracles.schedule_rows import Row
from starcast.trees import forest
from starcast.trees.hamiltonian_paths import cycle_word, path_word, walk
from starcast.trees.multinode import phase_1_word, phase_2_ports
from support.meeting import built, ports_of, refused, roots, tree_of

SIZES = range(2, 8)


def as_array(word: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return a list of link types as an array."""
    return np.array(word, dtype=np.uint8)


# The following tests concern Hamiltonian paths and cycles (A1).


def test_the_hamiltonian_path_follows_ehrlichs_algorithm() -> None:
    """The oracle implements Ehrlich's Algorithm E literally, with its counters."""
    for m in range(1, 9):
        assert path_word(m).tolist() == page.ehrlich(m)


def test_the_hamiltonian_path_visits_every_node_once() -> None:
    for m in range(1, 10):
        assert np.array_equal(np.sort(walk(m, path_word(m))), np.arange(factorial(m)))


def test_the_hamiltonian_path_does_not_always_end_next_to_its_start() -> None:
    """For n = 3 to 8, it ends next to its start only if n is 3, 4 or 6 (pitfall 4)."""
    for n, closes in [(3, True), (4, True), (5, False), (6, True), (7, False), (8, False)]:
        end = star_graph.nodes(n)[walk(n, path_word(n))[-1]]
        assert (
            end in [star_graph.swap(star_graph.identity(n), d) for d in range(2, n + 1)]
        ) == closes


@pytest.mark.parametrize("n", range(2, 9))
def test_the_hamiltonian_cycle_follows_the_definition(n: int) -> None:
    assert cycle_word(n).tolist() == page.cycle_types(n)


def test_the_hamiltonian_cycle_visits_every_node_once_and_returns() -> None:
    """The cycle is computed for n = 2 to 9."""
    for n in range(2, 10):
        visited = walk(n, cycle_word(n))
        assert visited[0] == visited[-1] == 0
        assert np.array_equal(np.sort(visited[:-1]), np.arange(factorial(n)))


def all_paths(way: list[star_graph.Node]) -> Iterator[list[star_graph.Node]]:
    """Yield all Hamiltonian paths that begin with the path `way`, sorted by their words."""
    if len(way) == factorial(len(way[0])):
        yield way
    for i in range(2, len(way[0]) + 1):
        neighbour = star_graph.swap(way[-1], i)
        if neighbour not in way:
            yield from all_paths([*way, neighbour])


def test_the_oracle_finds_the_first_path_of_s4_in_lexicographic_order() -> None:
    """For each last node, `depth_first` finds the path from 1234 with the smallest word."""
    start = star_graph.identity(4)
    first: dict[star_graph.Node, list[star_graph.Node]] = {}
    for way in all_paths([start]):
        first.setdefault(way[-1], way)
    assert len(first) == 12
    for goal, way in first.items():
        assert star_graph.visited(start, page.depth_first(start, goal, start) or []) == way


@given(
    st.integers(2, 6).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(2, n), max_size=60))
    )
)
def test_walk_visits_the_same_nodes_as_the_oracle(sample: tuple[int, list[int]]) -> None:
    n, word = sample
    visited = star_graph.visited(star_graph.identity(n), word)
    assert [star_graph.nodes(n)[rank] for rank in walk(n, as_array(word)).tolist()] == visited


# The following tests concern the tree of rotated Hamiltonian paths (A2).


def test_the_tree_of_rotated_paths_follows_the_definition() -> None:
    for n in SIZES:
        tree = page.rotated_tree(n)
        for root in roots(n)[: 2 if n == 7 else None]:
            trees = built(n, "rotated-hamiltonian", root)
            assert np.array_equal(
                trees.parent_port, ports_of(rooted_trees.translated(tree, root), root)[None, :]
            )
            trees.verify()


@pytest.mark.parametrize("n", SIZES)
def test_subtree_j_is_a_hamiltonian_path_of_the_nodes_with_1_in_position_j(n: int) -> None:
    """The path in subtree j begins at the root's neighbour across dimension j (Theorem 4)."""
    tree = tree_of(built(n, "rotated-hamiltonian").parent_port[0], n)
    levels = built(n, "rotated-hamiltonian").levels()[0]
    for j in range(2, n + 1):
        inside = [x for x in star_graph.nodes(n) if x[j - 1] == 1]
        path = sorted(inside, key=lambda x: levels[star_graph.ranks(n)[x]])
        assert path[0] == star_graph.swap(star_graph.identity(n), j)
        assert len(path) == factorial(n - 1)
        assert [tree[x] for x in path] == [star_graph.identity(n), *path[:-1]]


def test_subtree_j_is_subtree_2_rotated_j_minus_2_times() -> None:
    """A rotation maps dimension i to (i-1) mod (n-1) + 2 (Theorem 4 and pitfall 2)."""
    for n in SIZES:
        tree = tree_of(built(n, "rotated-hamiltonian").parent_port[0], n)
        second = {x: parent for x, parent in tree.items() if x[1] == 1}
        for j in range(2, n + 1):
            for x, parent in second.items():
                turned, above = (
                    (*necklace(y), *necklace(y))[(j - 2) % len(necklace(y))] for y in (x, parent)
                )
                assert tree[turned] == above
                assert (
                    star_graph.dimension_between(turned, above)
                    == (star_graph.dimension_between(x, parent) + j - 4) % (n - 1) + 2
                )


def test_parents_of_nodes_with_the_first_symbol_of_the_root_follow_rule_1() -> None:
    """The dimension of the parent link is the position of the root's last symbol in the node."""
    for n in SIZES:
        for root in roots(n)[: 2 if n == 7 else None]:
            tree = tree_of(built(n, "rotated-hamiltonian", root).parent_port[0], n)
            for x in star_graph.nodes(n):
                if x[0] == root[0] and x != root:
                    assert tree[x] == star_graph.swap(x, x.index(root[-1]) + 1)


def test_links_of_phase_2_are_spread_evenly_over_the_dimensions() -> None:
    """There are (n-2)! links of each dimension, but one fewer of dimension n.

    The missing link would be that of the root itself.
    """
    for n in range(3, 9):
        counted = Counter(
            built(n, "rotated-hamiltonian").parent_port[0, 1 : factorial(n - 1)].tolist()
        )
        expected = {i: factorial(n - 2) - (i == n) for i in range(2, n + 1)}
        assert counted == {i: count for i, count in expected.items() if count}


def test_the_phase_2_port_of_a_node_is_the_position_of_the_chosen_symbol_in_its_label() -> None:
    for n in range(2, 8):
        first = star_graph.nodes(n)[: factorial(n - 1)]
        for symbol in range(2, n + 1):
            assert phase_2_ports(n, symbol).tolist() == [x.index(symbol) + 1 for x in first]


def test_s2_has_no_phase_2() -> None:
    """Phase 1 uses the only link of S2 in a single step (pitfall 18)."""
    assert built(2, "rotated-hamiltonian").parent_port.tolist() == [[0, 2]]
    assert phase_1_word(2).tolist() == [2]


def test_phase_1_follows_ehrlichs_algorithm() -> None:
    """The word is 2, followed by Ehrlich's word of S_{n-1} with all types increased by 1."""
    for n in range(2, 9):
        word = phase_1_word(n)
        assert word.tolist() == page.w(n)
        assert len(word) == factorial(n - 1)
        assert 2 not in word[1:]


# The following tests concern the schedule for all sources (A2).


def schedule(n: int) -> list[Row]:
    """Return the schedule of the root: phase 1, then phase 2."""
    return [*page.phase_1(n), *page.phase_2(n, factorial(n - 1))]


def test_the_schedule_sends_down_the_tree_in_the_minimum_number_of_steps() -> None:
    """The number of steps is n (n-2)! = ceil((n!-1)/(n-1)).

    Every step except the last informs n-1 nodes. The last step informs n-2 nodes.
    """
    for n in range(3, 8):
        sends = schedule(n)
        informed = {star_graph.identity(n): 0}
        for send in sends:
            assert informed[send.sender] < send.step
            assert send.receiver not in informed
            informed[send.receiver] = send.step
        tree = tree_of(built(n, "rotated-hamiltonian").parent_port[0], n)
        assert tree == {send.receiver: send.sender for send in sends}
        assert max(informed.values()) == n * factorial(n - 2) == -(-(factorial(n) - 1) // (n - 1))
        assert max(Counter((send.step, send.port) for send in sends).values()) == 1
        counts = Counter(send.step for send in sends)
        assert [counts[step] for step in sorted(counts)] == [n - 1] * (len(counts) - 1) + [n - 2]


def test_several_messages_that_share_phase_2_take_the_minimum_number_of_steps() -> None:
    """M messages take ceil(M(n!-1)/(n-1)) steps if message c uses symbol 2 + (c mod (n-1))."""
    for n in range(3, 8):
        loads = [
            np.bincount(phase_2_ports(n, symbol)[1:], minlength=n + 1) for symbol in range(2, n + 1)
        ]
        for copies in range(1, 2 * n):
            joint = sum(loads[c % (n - 1)] for c in range(copies))
            steps = copies * factorial(n - 1) + int(np.max(joint))
            assert steps == -(-copies * (factorial(n) - 1) // (n - 1))
            repeated = copies * -(-(factorial(n) - 1) // (n - 1))
            assert (repeated > steps) == (copies >= n - 1)  # else both are equal (pitfall 16)


# The following tests concern the Hamiltonian cycle (A4).


@pytest.mark.parametrize("n", SIZES)
def test_the_tree_along_the_hamiltonian_cycle_follows_the_definition(n: int) -> None:
    for root in roots(n)[: 2 if n == 7 else None]:
        trees = built(n, "hamiltonian-cycle", root)
        assert np.array_equal(
            trees.parent_port,
            ports_of(rooted_trees.translated(page.cycle_tree(n), root), root)[None, :],
        )


def test_the_tree_along_the_hamiltonian_cycle_is_a_path_that_ends_next_to_the_root() -> None:
    """The height of the tree is n!-1, and the last link of the cycle leads back to the root."""
    for n in range(2, 9):
        for root in roots(n)[: 2 if n > 6 else None]:
            trees = built(n, "hamiltonian-cycle", root)
            trees.verify()
            assert trees.height == factorial(n) - 1
            assert trees.leaves.tolist() == [1]
            last = int(np.argmax(trees.levels()[0]))
            closing = int(cycle_word(n)[-1])
            assert trees.topology.neighbours(closing)[last] == trees.root


@pytest.mark.parametrize("n", [3, 4])
def test_all_sources_use_the_same_dimension_in_each_step(n: int) -> None:
    """Translations preserve types, so in step t all nodes send over the t-th type of the word."""
    word = cycle_word(n)
    for root in star_graph.nodes(n):
        trees = built(n, "hamiltonian-cycle", root)
        levels = trees.levels()[0]
        below = levels > 0
        assert np.array_equal(trees.parent_port[0][below], word[levels[below] - 1])


@pytest.mark.parametrize("n", [4, 5])
def test_the_forest_at_another_root_may_follow_another_cycle(n: int) -> None:
    """Section 4 uses one cycle for all sources.

    The forest at root q follows a translated cycle.
    """
    start = star_graph.identity(n)
    cycle = star_graph.visited(start, page.cycle_types(n))[:-1]
    links = set(zip(cycle, [*cycle[1:], start], strict=True))
    agreeing = [
        q
        for q in star_graph.nodes(n)
        if all(
            (parent, x) in links
            for x, parent in tree_of(built(n, "hamiltonian-cycle", q).parent_port[0], n).items()
        )
    ]
    assert start in agreeing
    assert len(agreeing) < factorial(n)


def test_constructions_for_star_graphs_are_refused_on_other_topologies() -> None:
    for spec in ["S5,3", "Q3"]:
        for construction in ["rotated-hamiltonian", "hamiltonian-cycle", "necklace"]:
            with refused(construction, spec):
                forest(spec, construction)
