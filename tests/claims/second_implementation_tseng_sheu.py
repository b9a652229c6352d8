"""What fails of Tseng & Sheu 1997, looked at again."""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import count, product
from math import ceil, factorial, gcd, isqrt

from claims.definitions import (
    Node,
    Row,
    crossed,
    diameter,
    distances,
    execute,
    expanded,
    identity,
    nodes,
    number,
    one_port,
    size,
    text,
    translated,
)
from claims.definitions_allgather import allgather, clusters, rotated_paths
from claims.second_implementation import Place, reimplements

Levels = dict[tuple[Node, int], int]
"""The links of a tree, away from its root: sender and dimension, with the level."""


def towards(node: Node, root: Node) -> int:
    """Definition 1: the dimension over which the tree L(root) leaves a node."""
    if node[0] != root[0]:
        return root.index(node[0]) + 1
    return next(k for k in range(2, len(node) + 1) if node[k - 1] != root[k - 1])


def hat(r: Node, i: int) -> Levels:
    """Definition 2: L(rho^i(r)) with all links but those of the path from r turned round, by levels from r."""
    root = r[-i:] + r[:-i]
    kept, node = set[Node](), r
    while node != root:
        kept.add(node)
        node = crossed(node, towards(node, root))
    away: dict[Node, list[int]] = {one: [] for one in nodes(len(r))}
    for node in away.keys() - {root}:
        dimension = towards(node, root)
        away[node if node in kept else crossed(node, dimension)].append(dimension)
    levels, depth, waiting = Levels(), {r: 0}, deque([r])
    while waiting:
        node = waiting.popleft()
        for dimension in away[node]:
            child = crossed(node, dimension)
            assert child not in depth
            levels[node, dimension] = depth[child] = depth[node] + 1
            waiting.append(child)
    assert len(depth) == factorial(len(r))
    return levels


@cache
def hats(n: int) -> list[Levels]:
    return [hat(identity(n), i) for i in range(1, n)]


@reimplements("TS.L5")
def heights(spec: str) -> Place | None:
    n = size(spec)
    for r in nodes(n)[:24]:
        for i in range(1, n):
            height, stated = max(hat(r, i).values()), diameter(n) + n + gcd(n, i) - 2
            if height != stated:
                return {"n": n, "i": i, "found": height, "stated": stated}
    return None


def algorithm_1(n: int, p: int) -> list[Row]:
    """In slot t the links of level l of a tree carry its segment t-l+1."""
    return [
        (level + s, node, dimension, (tree, s))
        for tree, levels in enumerate(hats(n))
        for (node, dimension), level in levels.items()
        for s in range(p)
    ]


@cache
def slots(n: int, p: int) -> int:
    """Executed: how many slots it takes until every node has every segment, two of them at most in a packet."""
    everything = set(product(range(n - 1), range(p)))
    largest, holds = execute(algorithm_1(n, p), {identity(n): everything})
    assert all(holds[node] == everything for node in nodes(n))
    assert max(largest.values()) <= 2
    return max(largest)


@cache
def subslots(n: int, p: int) -> int:
    """Executed: the same with n-1 of them for every slot, one a dimension."""
    rows: list[Row] = [
        ((slot - 1) * (n - 1) + d - 1, node, d, unit) for slot, node, d, unit in algorithm_1(n, p)
    ]
    assert one_port(rows)
    everything = set(product(range(n - 1), range(p)))
    largest, holds = execute(rows, {identity(n): everything})
    assert all(holds[node] == everything for node in nodes(n))
    return ceil(Fraction(max(largest), n - 1)) * (n - 1)


def exceeds(time: Fraction, whole: Fraction, squared: Fraction) -> bool:
    """Whether time > whole + sqrt(squared)."""
    return time > whole and (time - whole) ** 2 > squared


def written(whole: Fraction, squared: Fraction) -> int | str:
    """A number whole + sqrt(squared)."""
    root = Fraction(isqrt(squared.numerator), isqrt(squared.denominator))
    return (
        number(whole + root) if root**2 == squared else f"{number(whole)} + sqrt({number(squared)})"
    )


def latest(n: int, run: Callable[[int, int], int], times: int) -> Place | None:
    """The first m, T_s, T_c for which no whole p ends within the stated time, with the best p; slots have one length."""
    h = max(max(levels.values()) for levels in hats(n))
    for m, t_s, t_c in product((1, 2), [2**e for e in range(11)], (1, 2)):
        a = Fraction(2 * m * t_c, n - 1)
        whole, squared = times * ((h - 1) * t_s + a), times**2 * 4 * (h - 1) * t_s * a
        found = dict[int, Fraction]()
        for p in count(1):
            if found and run(n, p) * t_s >= min(found.values()):
                break
            found[p] = run(n, p) * (t_s + a / p)
        best = min(found, key=lambda p: found[p])
        if exceeds(found[best], whole, squared):
            place = {"n": n, "m": m, "T_s": t_s, "T_c": t_c, "p": best}
            return {**place, "found": number(found[best]), "stated": written(whole, squared)}
    return None


@reimplements("TS.T1.time")
def all_port_time(spec: str) -> Place | None:
    return latest(size(spec), slots, 1)


@reimplements("TS.T2.time")
def one_port_time(spec: str) -> Place | None:
    n = size(spec)
    return latest(n, subslots, n - 1)


@reimplements("TS.S62-equal")
def translates(spec: str) -> Place | None:
    n = size(spec)
    stated = Fraction(factorial(n) - 1, n - 1)
    for tree in (rotated_paths(n), clusters(n)):
        used = Counter(
            (translated(q, node), dimension) for _, node, dimension, _ in tree for q in nodes(n)
        )
        for node, dimension in product(nodes(n), range(2, n + 1)):
            if used[node, dimension] != stated:
                link = f"{text(node)} -> {text(crossed(node, dimension))}"
                return {
                    "n": n,
                    "link": link,
                    "found": used[node, dimension],
                    "stated": number(stated),
                }
    return None


def costs() -> Iterator[tuple[int, int, int]]:
    return product((1, 2), (1, 2, 4), (1, 2, 4))


def dearer(n: int, packets: list[int], startups: int) -> Place | None:
    """The first m, T_s, T_c for which an execution does not take the stated start-ups and (n!-1)/(n-1) m T_c."""
    for m, t_s, t_c in costs():
        found = len(packets) * t_s + sum(packets) * m * t_c
        stated = startups * t_s + Fraction(factorial(n) - 1, n - 1) * m * t_c
        if found != stated:
            return {
                "n": n,
                "m": m,
                "T_s": t_s,
                "T_c": t_c,
                "found": found,
                "stated": number(stated),
            }
    return None


@reimplements("TS.Tab2.frago-ham-overall")
def hamiltonian_paths(spec: str) -> Place | None:
    n = size(spec)
    largest, _ = allgather(rotated_paths(n), n)
    assert set(largest.values()) == {1}
    assert len(largest) == max(largest) == ceil(Fraction(factorial(n) - 1, n - 1))
    return dearer(n, list(largest.values()), factorial(n - 1))


@reimplements("TS.Tab2.frago-nl-overall")
def necklaces_by_level(spec: str) -> Place | None:
    n = size(spec)
    away = distances(n)
    rows: list[Row] = [(away[crossed(node, d)], node, d, unit) for _, node, d, unit in clusters(n)]
    assert all(away[node] == level - 1 for level, node, _, _ in rows)
    everything = {(node, 0) for node in nodes(n)}
    largest, holds = execute(expanded(rows, n), {node: {(node, 0)} for node in nodes(n)})
    assert all(holds[node] == everything for node in nodes(n))
    return dearer(n, list(largest.values()), diameter(n))
