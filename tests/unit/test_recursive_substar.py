"""The broadcast tree of Sheu, Liaw & Chen, compared with their procedure (tseng-sheu.md, B1)."""

from collections import Counter
from math import factorial

import numpy as np
import pytest

from oracles import recursive_substar, rooted_trees, star_graph
from starcast.trees import forest
from support.meeting import ports_of, roots, tree_of

SIZES = range(2, 8)


@pytest.mark.parametrize("n", SIZES)
def test_the_tree_follows_the_procedure(n: int) -> None:
    for root in roots(n):
        built = forest(f"S{n}", "recursive-substar", root=star_graph.label(root))
        assert np.array_equal(
            built.parent_port, ports_of(recursive_substar.broadcast_tree(root), root)[None, :]
        )


def test_the_level_of_a_node_is_the_step_in_which_the_procedure_informs_it() -> None:
    for n in SIZES:
        root = star_graph.shift(star_graph.identity(n), 1)
        levels = forest(f"S{n}", "recursive-substar", root=star_graph.label(root)).levels()[0]
        for send in recursive_substar.sends_from(root):
            assert levels[star_graph.ranks(n)[send.receiver]] == send.step


def test_the_tree_of_s4_equals_the_tree_in_the_paper() -> None:
    """For example, 1234 has the children 2134, 3214 and 4231."""
    built = forest("S4", "recursive-substar")
    children = {
        star_graph.label(parent): set(map(star_graph.label, below))
        for parent, below in rooted_trees.children(tree_of(built.parent_port[0], 4)).items()
    }
    assert children["1234"] == {"2134", "3214", "4231"}
    assert children["4231"] == {"2431", "3241"}
    assert children["2134"] == {"3124", "4132"}
    assert children["3214"] == {"2314", "4213"}
    assert built.height == 5


def test_every_node_is_informed_exactly_once() -> None:
    for n in SIZES:
        receivers = Counter(
            send.receiver for send in recursive_substar.sends_from(star_graph.identity(n))
        )
        assert set(receivers.values()) == {1}
        assert len(receivers) == factorial(n) - 1
        assert forest(f"S{n}", "recursive-substar").members().all()


def test_nodes_informed_per_step_are_the_coefficients_of_the_polynomial() -> None:
    """The polynomial is the product of 1 + z + (i-2) z^2 for i = 2..n (section B1).

    The last step informs (n-2)! nodes.
    """
    for n in SIZES:
        result = np.asarray(forest(f"S{n}", "recursive-substar").level_profile())[0].tolist()
        assert result == recursive_substar.informed_per_step(n)
        assert result[-1] == factorial(n - 2)


@pytest.mark.parametrize("n", range(2, 10))
def test_the_height_is_2n_minus_3(n: int) -> None:
    """Theorem 4 of Sheu, Liaw & Chen states the height 2n-3."""
    assert forest(f"S{n}", "recursive-substar").height == 2 * n - 3


def test_the_number_of_links_of_each_dimension_follows_the_formula() -> None:
    """There are (k-1) n!/k! links of dimension k (section B1)."""
    for n in range(2, 9):
        counted = Counter(forest(f"S{n}", "recursive-substar").parent_port[0].tolist())
        assert counted == {0: 1} | {
            k: recursive_substar.links_of_dimension(n, k) for k in range(2, n + 1)
        }


def test_a_third_of_the_nodes_are_leaves() -> None:
    for n in range(3, 9):
        assert list(forest(f"S{n}", "recursive-substar").leaves) == [factorial(n) // 3]


def test_the_number_of_relay_nodes_follows_the_formula() -> None:
    """There are n!/k! relays for each k from 3 to n (section B1).

    A relay is a node with a child across a higher dimension than its parent.
    """
    for n in SIZES:
        parents = forest(f"S{n}", "recursive-substar").parent_port[0]
        tree = tree_of(parents, n)
        ranks = star_graph.ranks(n)
        relays = {
            parent
            for child, parent in tree.items()
            if parent in tree and parents[ranks[child]] > parents[ranks[parent]]
        }
        assert len(relays) == sum(factorial(n) // factorial(k) for k in range(3, n + 1))


def test_no_node_sends_twice_over_the_same_dimension_or_back_to_its_parent() -> None:
    """A node sends to all its children in one step, so each child needs a link of its own."""
    for n in SIZES:
        used: dict[star_graph.Node, list[int]] = {}
        for child, parent in tree_of(
            forest(f"S{n}", "recursive-substar").parent_port[0], n
        ).items():
            for end in (child, parent):
                used.setdefault(end, []).append(star_graph.dimension_between(child, parent))
        assert all(len(set(dimensions)) == len(dimensions) for dimensions in used.values())


# The following tests exclude misreadings of the paper (tseng-sheu.md, pitfalls 9 and 10).


def test_the_child_over_dimension_2_relays_over_all_higher_dimensions() -> None:
    """For this child the procedure has dim1 = 1, which does not stop the recursion (pitfall 10)."""
    for n in range(3, 7):
        root = star_graph.identity(n)
        tree = tree_of(forest(f"S{n}", "recursive-substar").parent_port[0], n)
        v2 = star_graph.swap(root, 2)
        children = {child for child, parent in tree.items() if parent == v2}
        assert children == {star_graph.swap(v2, k) for k in range(3, n + 1)}
