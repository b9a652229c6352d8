"""Second implementations for the failing claims of Li, Chen, Xiang & Yao about (n,k)-star trees."""

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction

from claims.second_implementation import (
    Comparisons,
    contradiction,
    fewer,
    more,
    reimplements,
    unequal,
)
from oracles.allgather import nk_all_sources
from oracles.nk_star import (
    across,
    chain,
    diameter,
    distances,
    extension,
    externals,
    greedy,
    internal_cycles,
    multiple_at_identity,
    neighbours,
    nodes,
    root_of,
)
from oracles.rooted_trees import Tree, depths, load, path
from oracles.rotation import r
from oracles.schedule_rows import deliver_all
from oracles.star_graph import Node, compose, identity, label, shift
from oracles.tseng_sheu import literally_changed


def one_tree(n: int, k: int) -> Tree:
    """Return SP(Id), the paper's shortest-path tree of S_{n,k} with root 12..k."""
    return greedy(identity(k), n)


def level_of(n: int, k: int) -> dict[Node, int]:
    """Return the level of every node in the tree SP(Id)."""
    return depths(one_tree(n, k), identity(k))


def pairs(among: Iterable[Node]) -> Iterator[tuple[Node, Node]]:
    """Yield all ordered pairs of different nodes."""
    return ((node, other) for node in among for other in among if node != other)


@reimplements("NK.C1.worded")
def _near_levels_imply_adjacency(n: int, k: int) -> Comparisons:
    level = level_of(n, k)
    for node, other in pairs(nodes(n, k)):
        if abs(level[node] - level[other]) <= 1 and other not in neighbours(node, n):
            yield contradiction(False, True, node=label(node), other=label(other))


@reimplements("NK.C2.balance")
def _leaves_are_balanced(n: int, k: int) -> Comparisons:
    level = level_of(n, k)
    inner = set(one_tree(n, k).values())
    for node, other in pairs([node for node in nodes(n, k) if node not in inner]):
        measured = abs(level[node] - level[other])
        yield more(measured, 1, node=label(node), other=label(other))


def has_stated_form(node: Node, n: int) -> bool:
    k = len(node)
    external = externals(node)
    if k <= n // 2:
        return len(external) == k or (node[0] == 1 and len(external) == k - 1)
    chains = [len(chain(node, symbol)) for symbol in external]
    cycles = [len(cycle) for cycle in internal_cycles(node)]
    in_place = [position for position in range(1, k + 1) if node[position - 1] == position]
    if chains != [1] * (n - k):
        return False
    if n % 2:
        return in_place == [1] and set(cycles) <= {2}
    return (in_place == [1] and set(cycles) <= {2, 3} and cycles.count(3) == 1) or (
        not in_place and set(cycles) <= {2}
    )


@reimplements("NK.C2.farthest")
def _farthest_nodes_have_stated_forms(n: int, k: int) -> Comparisons:
    distance = distances(identity(k), n)
    for node in nodes(n, k):
        if distance[node] == diameter(n, k) and not has_stated_form(node, n):
            yield contradiction(False, True, node=label(node))


@reimplements("NK.T4.links")
def _number_of_links(n: int, k: int) -> Comparisons:
    measured = sum(len(neighbours(node, n)) for node in nodes(n, k))
    stated = (n - 1) * (len(nodes(n, k)) - 1)
    yield unequal(measured, stated)


@reimplements("NK.S5-copies")
def _allgather_is_many_broadcasts(n: int, k: int) -> Comparisons:
    """Compare the number of broadcasts in an allgather with the number of nodes minus 1."""
    rows = nk_all_sources([one_tree(n, k)], n)
    copies = {row.unit for row in rows}
    deliver_all(rows, {source: {(source, 0)} for source in nodes(n, k)}, nodes(n, k))
    measured, stated = len(copies), len(nodes(n, k)) - 1
    yield unequal(measured, stated)


@reimplements("NK.S51-EC")
def _shifted_dimensions_span(n: int, k: int) -> Comparisons:
    for i in range(n - 1):
        reached = literally_changed(i, one_tree(n, k), n, k)
        for node in nodes(n, k):
            yield unequal(reached[node], 1, i=i, node=label(node))


def shift_node(node: Node, n: int, last: int) -> Node:
    """Return the node after shifting positions and symbols 2..last cyclically by one."""
    after = {s: r(s, last) if s <= last else s for s in range(1, n + 1)}
    symbols = {after[i]: after[s] for i, s in enumerate(extension(node, n), 1)}
    return tuple(symbols[position] for position in range(1, len(node) + 1))


def dimension_changes(n: int, k: int) -> list[Tree]:
    """Return SP(Id) and its images under cyclic shifts of ports 2..k (2..n if k = n-1)."""
    last = n if k == n - 1 else k
    trees = [one_tree(n, k)]
    for _ in range(last - 2):
        links = trees[-1].items()
        trees.append({shift_node(a, n, last): shift_node(b, n, last) for a, b in links})
    return trees


def loads(n: int, k: int) -> list[Counter[tuple[Node, Node]]]:
    """Return the load of each directed link in each step of an allgather.

    The load is a number of transmissions, each of which carries one tree's share of a message.
    """
    measured = [Counter[tuple[Node, Node]]() for _ in range(diameter(n, k))]
    for tree in dimension_changes(n, k):
        level = depths(tree, identity(k))
        for source in nodes(n, k):
            q = extension(source, n)
            for child, parent in tree.items():
                measured[level[child] - 1][compose(q, parent), compose(q, child)] += 1
    return measured


@reimplements("NK.T4.even")
def _links_are_loaded_evenly(n: int, k: int) -> Comparisons:
    shares = len(dimension_changes(n, k))
    links = [(node, across(node, d, n)) for node in nodes(n, k) for d in range(2, n + 1)]
    for step, units in enumerate(loads(n, k), 1):
        stated = Fraction(units.total(), shares * len(links))
        for link in links:
            measured = Fraction(units[link], shares)
            text = " -> ".join(map(label, link))
            yield unequal(measured, stated, step=step, link=text)


@reimplements("NK.T4.time")
def _time_on_one_tree(n: int, k: int) -> Comparisons:
    shares = len(dimension_changes(n, k))
    measured = sum(
        (1 + Fraction(max(units.values()), shares) for units in loads(n, k)), Fraction(0)
    )
    stated = diameter(n, k) + Fraction(len(nodes(n, k)) - 1, n - 1)
    yield unequal(measured, stated, m=1, T_s=1, T_c=1)


@reimplements("NK.T6")
def _congestion_of_shifted_trees(n: int, k: int) -> Comparisons:
    used = load(greedy(root_of(i, n, k), n) for i in range(1, n))
    measured = max(used.values())
    stated = next(i for i in range(n) if i * k < n <= (i + 1) * k)
    yield unequal(measured, stated)


@reimplements("NK.T6-Rn")
def _full_shift(n: int, _: int) -> Comparisons:
    stated = (*range(2, n + 1), 1)
    yield unequal(label(shift(identity(n), n)), label(stated), i=n)


def heights(n: int, k: int) -> list[int]:
    """Return the heights of the n-1 trees MT with root 12..k."""
    return [max(depths(tree, identity(k)).values()) for tree in multiple_at_identity(n, k)]


@reimplements("NK.T7.sum")
def _height_is_diameter_plus_path(n: int, k: int) -> Comparisons:
    for i, measured in enumerate(heights(n, k), 1):
        way = path(greedy(root_of(i, n, k), n), identity(k))
        stated = diameter(n, k) + len(way) - 1
        yield unequal(measured, stated, i=i)


@reimplements("NK.T7.lower")
def _height_is_at_least_k_plus_diameter(n: int, k: int) -> Comparisons:
    for i, measured in enumerate(heights(n, k), 1):
        yield fewer(measured, k + diameter(n, k), i=i)
