"""The tree SP and the forest MT on (n,k)-stars, compared with docs/definitions/nk-star.md.

SP is the construction `nk-greedy`, and MT is `nk-multiple`. R_i(Id) is the identity shifted by i.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from oracles import nk_star, rooted_trees, star_graph
from starcast.topologies import topology
from starcast.trees import Forest, forest
from starcast.trees.common import translate_ports
from support.meeting import refused

SIZES = [(n, k) for n in range(2, 8) for k in range(1, n)]
every_size = pytest.mark.parametrize(("n", "k"), SIZES)


def home(n: int, k: int) -> star_graph.Node:
    """Return the identity 12..k."""
    return star_graph.identity(n)[:k]


def some_roots(n: int, k: int) -> list[star_graph.Node]:
    """Return the identity, a shift of the identity, the last node and a node from the middle."""
    every = nk_star.nodes(n, k)
    return list(
        dict.fromkeys([every[0], nk_star.root_of(1, n, k), every[-1], every[len(every) // 3]])
    )


def ports_of(tree: rooted_trees.Tree, n: int, k: int) -> NDArray[np.uint8]:
    """Return a tree as an array with the port of each node towards its parent."""
    ports = [nk_star.port_between(v, tree[v], n) if v in tree else 0 for v in nk_star.nodes(n, k)]
    return np.array(ports, dtype=np.uint8)


@every_size
def test_sp_follows_the_definition_and_is_a_shortest_path_tree(n: int, k: int) -> None:
    """The height of SP is the diameter. SP at any root is a translation of SP at the identity."""
    t = topology(f"S{n},{k}")
    at_identity = forest(t, "nk-greedy").parent_port
    for root in some_roots(n, k):
        built = forest(t, "nk-greedy", root=star_graph.label(root))
        assert built.id == f"S{n},{k}:nk-greedy:{star_graph.label(root)}"
        expected = ports_of(nk_star.greedy(root, n), n, k)[None, :]
        assert np.array_equal(built.parent_port, expected)
        assert built.is_shortest_path
        assert built.height == nk_star.diameter(n, k)
        assert tuple(built.level_profile()[0].tolist()) == t.distance_profile()
    for rank in range(0, t.nodes, max(1, t.nodes // 50)):
        translated = forest(t, "nk-greedy", root=rank)
        translated.verify()
        assert np.array_equal(translated.parent_port, translate_ports(t, at_identity, rank))


def test_sp_and_mt_for_k_equal_to_n_minus_1_are_the_trees_of_the_star_graph() -> None:
    """For k = n-1, SP and MT are Tseng and Sheu's trees L and L-hat."""
    for n in range(2, 8):
        for root in (0, topology(f"S{n}").nodes - 1):
            greedy, multiple = (
                forest(f"S{n}", name, root=root).parent_port for name in ("greedy", "multiple")
            )
            assert np.array_equal(
                forest(f"S{n},{n - 1}", "nk-greedy", root=root).parent_port, greedy
            )
            assert np.array_equal(
                forest(f"S{n},{n - 1}", "nk-multiple", root=root).parent_port, multiple
            )


def test_sp_on_a_complete_graph_connects_every_node_with_the_root() -> None:
    for n in range(2, 8):
        for root in range(n):
            assert (forest(f"S{n},1", "nk-greedy", root=root).parents()[0] == root).sum() == n - 1


def test_all_leaves_of_sp_on_s4_2_are_on_one_level() -> None:
    """The balance factor is therefore 0, as the paper states."""
    built = forest("S4,2", "nk-greedy")
    inner = set(built.parents()[0].tolist())
    assert {int(built.levels()[0, v]) for v in range(12) if v not in inner} == {3}


@every_size
def test_mt_consists_of_the_trees_of_the_definition_in_order(n: int, k: int) -> None:
    for root in some_roots(n, k)[:: 1 if n < 7 else 3]:
        built = forest(f"S{n},{k}", "nk-multiple", root=star_graph.label(root))
        expected = np.stack([ports_of(tree, n, k) for tree in nk_star.multiple(root, n)])
        assert built.id == f"S{n},{k}:nk-multiple:{star_graph.label(root)}"
        assert np.array_equal(built.parent_port, expected)
        built.verify()


#: The congestion of MT at some sizes (n, k). At all other sizes it is 1 if k = 1, and 2 otherwise.
CONGESTION = {(2, 1): 1, (5, 3): 3, (6, 3): 3, (7, 3): 3, (7, 4): 3, (7, 5): 3}


@every_size
def test_levels_heights_and_congestion_of_mt_equal_those_of_the_oracle(n: int, k: int) -> None:
    """The height of tree i is at most D + l_i, where D is the diameter and l_i the path length.

    It is smaller if n = 2k-1 and i = n-1 (pitfall 11).
    """
    built = forest(f"S{n},{k}", "nk-multiple")
    trees = nk_star.multiple_at_identity(n, k)
    levels = [rooted_trees.depths(tree, home(n, k)) for tree in trees]
    assert built.levels().tolist() == [[first[v] for v in nk_star.nodes(n, k)] for first in levels]
    assert built.heights.tolist() == [max(first.values()) for first in levels]
    bounds = [nk_star.diameter(n, k) + nk_star.path_length(n, k, i) for i in range(1, n)]
    short = [
        i
        for i, (height, bound) in enumerate(zip(built.heights, bounds, strict=True), start=1)
        if height < bound
    ]
    assert (built.heights <= bounds).all()
    assert short == ([n - 1] if n == 2 * k - 1 else [] if (n, k) != (2, 1) else [1])
    # Each direction of a link counts alone: both together have load 5 on S7,4 (pitfall 7).
    expected = CONGESTION.get((n, k), 1 if k == 1 else 2)
    assert built.congestion == max(rooted_trees.load(trees).values()) == expected
    if (n, k) == (7, 4):
        assert max(nk_star.undirected_load(trees).values()) == 5


@pytest.mark.parametrize(
    ("n", "k"), [(n, k) for n in range(2, 10) for k in range(1, n) if n < 8 or k <= 5]
)
def test_paths_of_mt_from_the_root_to_its_shifts_have_the_lengths_of_the_definition(
    n: int, k: int
) -> None:
    """Path i has l_i = k-1 + min(i, n-i, k, n-k) + max(0, gcd(i,n) - (n-k)) links."""
    built = forest(f"S{n},{k}", "nk-multiple")
    ends = [built.topology.rank(star_graph.label(nk_star.root_of(i, n, k))) for i in range(1, n)]
    levels = [int(row[end]) for row, end in zip(built.levels(), ends, strict=True)]
    assert levels == [nk_star.path_length(n, k, i) for i in range(1, n)]


def test_trees_of_mt_differ_from_shifted_sp_trees_only_on_one_path() -> None:
    """Tree i is SP(R_i(Id)) with the path between R_i(Id) and the identity reversed."""
    for n, k in SIZES:
        built = forest(f"S{n},{k}", "nk-multiple")
        for i, row in enumerate(built.parent_port, start=1):
            straight = forest(
                f"S{n},{k}", "nk-greedy", root=star_graph.label(nk_star.root_of(i, n, k))
            ).parent_port[0]
            assert np.count_nonzero(row != straight) <= nk_star.path_length(n, k, i) + 1


def test_the_load_histogram_of_mt_has_the_known_values() -> None:
    """The known values were counted by the oracle."""
    for n, k, histogram in [
        (3, 2, {0: 3, 1: 8, 2: 1}),
        (4, 2, {0: 9, 1: 21, 2: 6}),
        (5, 3, {0: 56, 1: 133, 2: 50, 3: 1}),
        (6, 3, {0: 147, 1: 312, 2: 140, 3: 1}),
        (7, 4, {0: 1186, 1: 2732, 2: 1064, 3: 58}),
    ]:
        assert dict(forest(f"S{n},{k}", "nk-multiple").load_histogram()) == histogram


@given(st.sampled_from([(4, 2), (5, 2), (5, 3), (6, 3), (6, 5), (5, 1)]), st.data())
def test_mt_at_any_root_is_a_translation_of_mt_at_the_identity(
    size: tuple[int, int], data: st.DataObject
) -> None:
    n, k = size
    t = topology(f"S{n},{k}")
    root = data.draw(st.integers(0, t.nodes - 1))
    translated, at_identity = forest(t, "nk-multiple", root=root), forest(t, "nk-multiple")
    translated.verify()
    assert np.array_equal(translated.parent_port, translate_ports(t, at_identity.parent_port, root))
    assert translated.load_histogram() == at_identity.load_histogram()
    image = t.translation(root)
    assert np.array_equal(
        translated.parents()[:, image],
        np.where(at_identity.parents() < 0, -1, image[at_identity.parents()]),
    )


def test_sp_and_mt_are_refused_on_other_topologies() -> None:
    for spec in ["S4", "Q3"]:
        for construction in ["nk-greedy", "nk-multiple"]:
            with refused(construction, spec):
                forest(spec, construction)


def test_constructions_for_other_topologies_are_refused_on_nk_stars() -> None:
    for construction in ["greedy", "multiple", "recursive-substar", "binomial"]:
        with refused(construction, "S5,3"):
            forest("S5,3", construction)


@pytest.mark.parametrize("spec", ["S9,5", "S20,3", "S35,2"])
def test_sp_and_mt_on_large_nk_stars_are_valid(spec: str) -> None:
    t = topology(spec)
    for construction in ("nk-greedy", "nk-multiple"):
        built: Forest = forest(t, construction, root=t.nodes // 2)
        built.verify()
        assert built.height <= 2 * t.diameter
    assert forest(t, "nk-greedy", root=t.nodes // 2).is_shortest_path
