"""Second implementations of failing claims of Li, Chen, Xiang & Yao: the (n,k)-star, its trees."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from claims.definitions import Node, number, text
from claims.definitions_nk import (
    Levels,
    chain,
    diameter,
    distances,
    exchanged,
    execute,
    extended,
    from_all,
    identity,
    internal_cycles,
    many_trees,
    neighbours,
    nodes,
    one_tree,
    relabelled,
    rooted,
    segments,
    shifted,
    sizes,
)
from claims.second_implementation import Place, reimplements


def level_of(n: int, k: int) -> dict[Node, int]:
    return {identity(k): 0} | {node: level for (_, node), level in one_tree(n, k).items()}


def pairs(among: list[Node]) -> Iterator[tuple[Node, Node]]:
    return ((node, other) for node in among for other in among if node != other)


@reimplements("NK.C1.worded")
def _near_levels_imply_adjacency(spec: str) -> Place | None:
    n, k = sizes(spec)
    level = level_of(n, k)
    for node, other in pairs(nodes(n, k)):
        if abs(level[node] - level[other]) <= 1 and other not in neighbours(node, n).values():
            return {
                "n": n,
                "k": k,
                "node": text(node),
                "other": text(other),
                "found": False,
                "stated": True,
            }
    return None


@reimplements("NK.C2.balance")
def _leaves_are_balanced(spec: str) -> Place | None:
    n, k = sizes(spec)
    level = level_of(n, k)
    inner = {above for above, _ in one_tree(n, k)}
    for node, other in pairs([node for node in nodes(n, k) if node not in inner]):
        if (measured := abs(level[node] - level[other])) > 1:
            return {
                "n": n,
                "k": k,
                "node": text(node),
                "other": text(other),
                "found": measured,
                "stated": 1,
            }
    return None


def has_stated_form(node: Node, n: int) -> bool:
    k = len(node)
    external = [symbol for symbol in node if symbol > k]
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
def _farthest_nodes_have_stated_forms(spec: str) -> Place | None:
    n, k = sizes(spec)
    for node in nodes(n, k):
        if distances(n, k)[node] == diameter(n, k) and not has_stated_form(node, n):
            return {"n": n, "k": k, "node": text(node), "found": False, "stated": True}
    return None


@reimplements("NK.T4.links")
def _number_of_links(spec: str) -> Place | None:
    n, k = sizes(spec)
    measured = sum(len(neighbours(node, n)) for node in nodes(n, k))
    stated = (n - 1) * (len(nodes(n, k)) - 1)
    return {"n": n, "k": k, "found": measured, "stated": stated} if measured != stated else None


@reimplements("NK.S5-copies")
def _allgather_is_many_broadcasts(spec: str) -> Place | None:
    """Execute the broadcasts of all sources together: each of them is needed."""
    n, k = sizes(spec)
    rows = from_all(segments([one_tree(n, k)], 1), n, k)
    copies = {unit for _, _, _, unit in rows}
    execute(rows, {source: {(source, (0, 0))} for source in nodes(n, k)})
    measured, stated = len(copies), len(nodes(n, k)) - 1
    return {"n": n, "k": k, "found": measured, "stated": stated} if measured != stated else None


def count_path_ends(n: int, k: int, i: int) -> Counter[Node]:
    """Count the ends of the paths of SP if its n-1 dimensions are shifted by i.

    Labels have n symbols, including those in brackets.
    """
    places = {identity(k): (identity(n), identity(n))}
    for (above, node), _ in sorted(one_tree(n, k).items(), key=lambda item: item[1]):
        label, image = places[above]
        crossed = label.index(node[0]) + 1
        places[node] = exchanged(label, crossed), exchanged(image, (crossed - 2 + i) % (n - 1) + 2)
    return Counter(image[:k] for _, image in places.values())


@reimplements("NK.S51-EC")
def _shifted_dimensions_span(spec: str) -> Place | None:
    n, k = sizes(spec)
    for i in range(n - 1):
        reached = count_path_ends(n, k, i)
        for node in nodes(n, k):
            if reached[node] != 1:
                return {
                    "n": n,
                    "k": k,
                    "i": i,
                    "node": text(node),
                    "found": reached[node],
                    "stated": 1,
                }
    return None


def shift_node(node: Node, n: int, last: int) -> Node:
    """Shift positions 2..last and their symbols cyclically by one."""
    after = {s: s % last + 1 if 2 <= s < last else 2 if s == last else s for s in range(1, n + 1)}
    label = dict(
        zip((after[s] for s in range(1, n + 1)), (after[s] for s in extended(node, n)), strict=True)
    )
    return tuple(label[position] for position in range(1, len(node) + 1))


def dimension_changes(n: int, k: int) -> list[Levels]:
    """Return SP with the exchanges 2..k shifted, or all dimensions 2..n of the star graph."""
    last = n if k == n - 1 else k
    trees = [one_tree(n, k)]
    for _ in range(last - 2):
        trees.append(
            {
                (shift_node(a, n, last), shift_node(b, n, last)): level
                for (a, b), level in trees[-1].items()
            }
        )
    return trees


def loads(n: int, k: int) -> list[Counter[tuple[Node, Node]]]:
    """Return the loads of directed links in every step; a unit is the share of one tree."""
    trees = dimension_changes(n, k)
    measured = [Counter[tuple[Node, Node]]() for _ in range(diameter(n, k))]
    for source in nodes(n, k):
        q = extended(source, n)
        for tree in trees:
            for (a, b), level in tree.items():
                measured[level - 1][relabelled(q, a), relabelled(q, b)] += 1
    return measured


@reimplements("NK.T4.even")
def _links_are_loaded_evenly(spec: str) -> Place | None:
    n, k = sizes(spec)
    shares = len(dimension_changes(n, k))
    links = [(node, neighbours(node, n)[d]) for node in nodes(n, k) for d in range(2, n + 1)]
    for step, load in enumerate(loads(n, k), 1):
        stated = Fraction(load.total(), shares * len(links))
        for link in links:
            if (measured := Fraction(load[link], shares)) != stated:
                place: Place = {"n": n, "k": k, "step": step, "link": " -> ".join(map(text, link))}
                return {**place, "found": number(measured), "stated": number(stated)}
    return None


@reimplements("NK.T4.time")
def _time_on_one_tree(spec: str) -> Place | None:
    n, k = sizes(spec)
    shares = len(dimension_changes(n, k))
    measured = sum((1 + Fraction(max(load.values()), shares) for load in loads(n, k)), Fraction(0))
    stated = diameter(n, k) + Fraction(len(nodes(n, k)) - 1, n - 1)
    if measured == stated:
        return None
    return {
        "n": n,
        "k": k,
        "m": 1,
        "T_s": 1,
        "T_c": 1,
        "found": number(measured),
        "stated": number(stated),
    }


@reimplements("NK.T6")
def _congestion_of_shifted_trees(spec: str) -> Place | None:
    n, k = sizes(spec)
    used = Counter((above, node) for i in range(1, n) for node, above in rooted(n, k, i).items())
    measured = max(used.values())
    stated = next(i for i in range(n) if i * k < n <= (i + 1) * k)
    return {"n": n, "k": k, "found": measured, "stated": stated} if measured != stated else None


@reimplements("NK.T6-Rn")
def _full_shift(spec: str) -> Place | None:
    n, k = sizes(spec)
    measured, stated = shifted(n, n), (*range(2, n + 1), 1)
    return (
        {"n": n, "k": k, "i": n, "found": text(measured), "stated": text(stated)}
        if measured != stated
        else None
    )


def path_length(n: int, k: int, i: int) -> int:
    """Return the length of the path from Id to R_i(Id) in SP(R_i(Id))."""
    node, length = identity(k), 0
    while node in rooted(n, k, i):
        node, length = rooted(n, k, i)[node], length + 1
    return length


@reimplements("NK.T7.sum")
def _height_is_diameter_plus_path(spec: str) -> Place | None:
    n, k = sizes(spec)
    for i, tree in enumerate(many_trees(n, k), 1):
        measured, stated = max(tree.values()), diameter(n, k) + path_length(n, k, i)
        if measured != stated:
            return {"n": n, "k": k, "i": i, "found": measured, "stated": stated}
    return None


@reimplements("NK.T7.lower")
def _height_is_at_least_k_plus_diameter(spec: str) -> Place | None:
    n, k = sizes(spec)
    for i, tree in enumerate(many_trees(n, k), 1):
        if (measured := max(tree.values())) < k + diameter(n, k):
            return {"n": n, "k": k, "i": i, "found": measured, "stated": k + diameter(n, k)}
    return None
