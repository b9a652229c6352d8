"""The tree of Sheu, Liaw & Chen, compared with their procedure and with wrong readings."""

from collections import Counter
from math import factorial

import numpy as np
import pytest

from starcast.trees import forest
from support import oracles
from support.meeting import ports_of, roots, tree_of

SIZES = range(2, 8)


@pytest.mark.parametrize("n", SIZES)
def test_the_tree_follows_the_procedure(n: int) -> None:
    for root in roots(n):
        built = forest(f"S{n}", "recursive-substar", root=oracles.label(root))
        assert np.array_equal(
            built.parent_port, ports_of(oracles.recursive_substar(root), root)[None, :]
        )


def test_levels_are_the_steps_of_the_procedure() -> None:
    for n in SIZES:
        root = oracles.shift(oracles.identity(n), 1)
        levels = forest(f"S{n}", "recursive-substar", root=oracles.label(root)).levels()[0]
        for send in oracles.recursive_substar_sends(root):
            assert levels[oracles.ranks(n)[send.receiver]] == send.step


def test_the_paper_s_example_on_s4() -> None:
    """1234 to 2134, 3214, 4231; 4231 to 2431, 3241; 2134 to 3124, 4132; 3214 to 2314, 4213; ..."""
    built = forest("S4", "recursive-substar")
    children: dict[str, set[str]] = {}
    for child, parent in tree_of(built.parent_port[0], 4).items():
        children.setdefault(oracles.label(parent), set()).add(oracles.label(child))
    assert children["1234"] == {"2134", "3214", "4231"}
    assert children["4231"] == {"2431", "3241"}
    assert children["2134"] == {"3124", "4132"}
    assert children["3214"] == {"2314", "4213"}
    assert built.height == 5


def test_every_node_is_informed_exactly_once() -> None:
    for n in SIZES:
        receivers = Counter(
            send.receiver for send in oracles.recursive_substar_sends(oracles.identity(n))
        )
        assert set(receivers.values()) == {1}
        assert len(receivers) == factorial(n) - 1
        assert forest(f"S{n}", "recursive-substar").members().all()


def test_nodes_informed_per_step_are_the_coefficients_of_the_polynomial() -> None:
    """B1: P_n(z) = product of (1 + z + (i-2) z^2); the last step informs (n-2)! nodes."""
    for n in SIZES:
        result = np.asarray(forest(f"S{n}", "recursive-substar").level_profile())[0].tolist()
        assert result == oracles.informed_per_step(n)
        assert result[-1] == factorial(n - 2)


@pytest.mark.parametrize("n", range(2, 10))
def test_the_height_is_2n_minus_3(n: int) -> None:
    """Theorem 4."""
    assert forest(f"S{n}", "recursive-substar").height == 2 * n - 3


def test_links_of_dimension_k() -> None:
    """B1: (k-1) n!/k! of them."""
    for n in range(2, 9):
        counted = Counter(forest(f"S{n}", "recursive-substar").parent_port[0].tolist())
        assert counted == {0: 1} | {k: oracles.links_of_dimension(n, k) for k in range(2, n + 1)}


def test_a_third_of_the_nodes_are_leaves() -> None:
    for n in range(3, 9):
        assert list(forest(f"S{n}", "recursive-substar").leaves) == [factorial(n) // 3]


def test_relay_nodes() -> None:
    """B1: n!/k! for each k = 3..n; a relay has a child above the dimension of its parent link."""
    for n in SIZES:
        parents = forest(f"S{n}", "recursive-substar").parent_port[0]
        tree = tree_of(parents, n)
        ranks = oracles.ranks(n)
        relays = {
            parent
            for child, parent in tree.items()
            if parent in tree and parents[ranks[child]] > parents[ranks[parent]]
        }
        assert len(relays) == sum(factorial(n) // factorial(k) for k in range(3, n + 1))


def test_no_node_sends_twice_over_a_dimension_or_back() -> None:
    """All sends of a node are in one step, so they use different links, and not the parent's."""
    for n in SIZES:
        used: dict[oracles.Node, list[int]] = {}
        for child, parent in tree_of(
            forest(f"S{n}", "recursive-substar").parent_port[0], n
        ).items():
            for end in (child, parent):
                used.setdefault(end, []).append(oracles.dimension_between(child, parent))
        assert all(len(set(dimensions)) == len(dimensions) for dimensions in used.values())


# Wrong readings (pitfalls 9 and 10)


def informed(
    n: int,
    *,
    start: int = 2,
    stop: int = 0,
    only_last: bool = False,
    rule_2: bool = True,
    again: bool = False,
) -> Counter[oracles.Node]:
    """Count how often another reading of Rule 2 informs each node; each node sends only once."""
    counted: Counter[oracles.Node] = Counter()
    queue = [(oracles.identity(n), n, True, n)]
    for s, dim1, flag, dim2 in queue:
        counted[s] += 1
        if counted[s] > 1:
            continue
        if dim1 > 1:
            queue.append((oracles.swap(s, dim1), dim1 - 1, True, dim1 - 1))
            queue += [(oracles.swap(s, i), i - 1, False, dim1) for i in range(2, dim1)]
        if rule_2 and not flag:
            first = dim2 if only_last else dim1 + start
            queue += [
                (oracles.swap(s, k), k - 1, not again, dim2 if again else k - 1)
                for k in range(first, dim2 - stop + 1)
            ]
    return counted


@pytest.mark.parametrize(("n", "nodes"), [(4, 24), (5, 120)])
def test_the_right_reading_reaches_every_node_once(n: int, nodes: int) -> None:
    assert informed(n) == Counter(oracles.nodes(n))
    assert len(informed(n)) == nodes == forest(f"S{n}", "recursive-substar").members().sum()


@pytest.mark.parametrize(("n", "nodes"), [(4, 8), (5, 16)])
def test_without_rule_2_most_nodes_are_missed(n: int, nodes: int) -> None:
    assert len(informed(n, rule_2=False)) == nodes


@pytest.mark.parametrize(("n", "nodes"), [(4, 22), (5, 98)])
def test_rule_2_for_the_last_dimension_alone_misses_some(n: int, nodes: int) -> None:
    assert len(informed(n, only_last=True)) == nodes


@pytest.mark.parametrize(("n", "nodes"), [(4, 10), (5, 28)])
def test_rule_2_that_stops_early_misses_many(n: int, nodes: int) -> None:
    assert len(informed(n, stop=1)) == nodes


@pytest.mark.parametrize(("n", "extra"), [(4, 5), (5, 26)])
def test_rule_2_that_sends_back_to_the_parent_repeats_itself(n: int, extra: int) -> None:
    """Pitfall 9: it starts at dim1+2, for dim1+1 is the parent link."""
    counted = informed(n, start=1)
    assert counted.total() - len(counted) == extra


@pytest.mark.parametrize(("n", "extra"), [(4, 4), (5, 50)])
def test_relays_of_relays_repeat_themselves(n: int, extra: int) -> None:
    """Pitfall 9: the receivers of Rule 2 are sources only."""
    counted = informed(n, again=True)
    assert counted.total() - len(counted) == extra


def test_v2_relays_although_it_is_the_source_of_a_single_node() -> None:
    """Pitfall 10: the child over dimension 2 has dim1 = 1 and still serves dimensions 3..n."""
    for n in range(3, 7):
        root = oracles.identity(n)
        tree = tree_of(forest(f"S{n}", "recursive-substar").parent_port[0], n)
        v2 = oracles.swap(root, 2)
        children = {child for child, parent in tree.items() if parent == v2}
        assert children == {oracles.swap(v2, k) for k in range(3, n + 1)}
