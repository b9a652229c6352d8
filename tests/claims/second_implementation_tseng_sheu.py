"""Second implementations of the claims of Tseng & Sheu 1997 that fail."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
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

#: The links of a tree away from its root: sender and dimension, with the level.
Levels = dict[tuple[Node, int], int]


def dimension_towards(node: Node, root: Node) -> int:
    """Return the dimension of the link by which a node leaves for its parent in L(root): Def. 1."""
    if node[0] != root[0]:
        return root.index(node[0]) + 1
    return next(k for k in range(2, len(node) + 1) if node[k - 1] != root[k - 1])


def hat_tree(r: Node, i: int) -> Levels:
    """Return L-hat(rho^i(r)) by Definition 2: L(rho^i(r)) reversed, except for the path from r."""
    root = r[-i:] + r[:-i]
    path = set[Node]()
    node = r
    while node != root:
        path.add(node)
        node = crossed(node, dimension_towards(node, root))
    dimensions: dict[Node, list[int]] = {tail: [] for tail in nodes(len(r))}
    for node in dimensions.keys() - {root}:
        dimension = dimension_towards(node, root)
        dimensions[node if node in path else crossed(node, dimension)].append(dimension)
    levels = Levels()
    depth = {r: 0}
    waiting = deque([r])
    while waiting:
        node = waiting.popleft()
        for dimension in dimensions[node]:
            child = crossed(node, dimension)
            assert child not in depth
            levels[node, dimension] = depth[child] = depth[node] + 1
            waiting.append(child)
    assert len(depth) == factorial(len(r))
    return levels


@cache
def hat_trees(n: int) -> list[Levels]:
    """Return the n-1 trees L-hat from 12..n."""
    return [hat_tree(identity(n), i) for i in range(1, n)]


@reimplements("TS.L5")
def heights(spec: str) -> Place | None:
    """Compare the height of every L-hat with D_n + n + gcd(n,i) - 2."""
    n = size(spec)
    for r in nodes(n)[:24]:
        for i in range(1, n):
            height = max(hat_tree(r, i).values())
            stated = diameter(n) + n + gcd(n, i) - 2
            if height != stated:
                return {"n": n, "i": i, "found": height, "stated": stated}
    return None


def algorithm_1(n: int, p: int) -> list[Row]:
    """Return the rows of Algorithm 1: in slot t links of level l carry segment t-l+1."""
    return [
        (level + segment, node, dimension, (tree, segment))
        for tree, levels in enumerate(hat_trees(n))
        for (node, dimension), level in levels.items()
        for segment in range(p)
    ]


def execute_algorithm_1(rows: list[Row], n: int, p: int) -> Mapping[int, int]:
    """Execute a broadcast of p segments per tree; return the largest packet of every step."""
    units = set(product(range(n - 1), range(p)))
    largest, holds = execute(rows, {identity(n): units})
    assert all(holds[node] == units for node in nodes(n))
    return largest


@cache
def slots(n: int, p: int) -> int:
    """Return the slots of Algorithm 1, whose packets have two segments at most."""
    largest = execute_algorithm_1(algorithm_1(n, p), n, p)
    assert max(largest.values()) <= 2
    return max(largest)


@cache
def subslots(n: int, p: int) -> int:
    """Return the sub-slots of the one-port simulation, n-1 for every slot, one per dimension."""
    rows: list[Row] = [
        ((slot - 1) * (n - 1) + d - 1, node, d, unit) for slot, node, d, unit in algorithm_1(n, p)
    ]
    assert one_port(rows)
    largest = execute_algorithm_1(rows, n, p)
    return ceil(Fraction(max(largest), n - 1)) * (n - 1)


def exceeds(time: Fraction, rational: Fraction, square: Fraction) -> bool:
    """Return whether time > rational + sqrt(square)."""
    return time > rational and (time - rational) ** 2 > square


def sum_text(rational: Fraction, square: Fraction) -> int | str:
    """Return the number rational + sqrt(square) as counterexamples show it."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 == square:
        return number(rational + root)
    return f"{number(rational)} + sqrt({number(square)})"


def first_late(n: int, steps: Callable[[int, int], int], factor: int) -> Place | None:
    """Return the first m, T_s, T_c for which no p ends in time, with the best p; equal slots."""
    h = max(max(levels.values()) for levels in hat_trees(n))
    for m, t_s, t_c in product((1, 2), [2**e for e in range(11)], (1, 2)):
        a = Fraction(2 * m * t_c, n - 1)
        rational = factor * ((h - 1) * t_s + a)
        square = factor**2 * 4 * (h - 1) * t_s * a
        times = dict[int, Fraction]()
        for p in count(1):
            # More segments need more start-ups, which alone would take longer.
            if times and steps(n, p) * t_s >= min(times.values()):
                break
            times[p] = steps(n, p) * (t_s + a / p)
        best = min(times, key=lambda p: times[p])
        if exceeds(times[best], rational, square):
            place = {"n": n, "m": m, "T_s": t_s, "T_c": t_c, "p": best}
            stated = sum_text(rational, square)
            return {**place, "found": number(times[best]), "stated": stated}
    return None


@reimplements("TS.T1.time")
def all_port_time(spec: str) -> Place | None:
    """Compare Algorithm 1 with the time of Theorem 1."""
    return first_late(size(spec), slots, 1)


@reimplements("TS.T2.time")
def one_port_time(spec: str) -> Place | None:
    """Compare the one-port simulation with n-1 times the time of Theorem 1."""
    n = size(spec)
    return first_late(n, subslots, n - 1)


@reimplements("TS.S62-equal")
def translates(spec: str) -> Place | None:
    """Compare the number of translates of both trees on every link with (n!-1)/(n-1)."""
    n = size(spec)
    stated = Fraction(factorial(n) - 1, n - 1)
    for tree in (rotated_paths(n), clusters(n)):
        links = [(node, dimension) for _, node, dimension, _ in tree]
        loads = Counter((translated(q, node), d) for node, d in links for q in nodes(n))
        for node, dimension in product(nodes(n), range(2, n + 1)):
            load = loads[node, dimension]
            if load != stated:
                link = f"{text(node)} -> {text(crossed(node, dimension))}"
                return {"n": n, "link": link, "found": load, "stated": number(stated)}
    return None


def first_difference(n: int, packets: list[int], startups: int) -> Place | None:
    """Return the first m, T_s, T_c for which an execution does not take the stated time.

    That is the stated number of start-ups and (n!-1)/(n-1) m T_c.
    """
    for m, t_s, t_c in product((1, 2), (1, 2, 4), (1, 2, 4)):
        time = len(packets) * t_s + sum(packets) * m * t_c
        stated = startups * t_s + Fraction(factorial(n) - 1, n - 1) * m * t_c
        if time != stated:
            place = {"n": n, "m": m, "T_s": t_s, "T_c": t_c}
            return {**place, "found": time, "stated": number(stated)}
    return None


@reimplements("TS.Tab2.frago-ham-overall")
def hamiltonian_paths(spec: str) -> Place | None:
    """Compare rotated Hamiltonian paths with (n-1)! start-ups."""
    n = size(spec)
    largest, _ = allgather(rotated_paths(n), n)
    assert set(largest.values()) == {1}
    assert len(largest) == max(largest) == ceil(Fraction(factorial(n) - 1, n - 1))
    return first_difference(n, list(largest.values()), factorial(n - 1))


@reimplements("TS.Tab2.frago-nl-overall")
def necklaces_by_level(spec: str) -> Place | None:
    """Compare the necklace tree, used level by level, with D_n start-ups."""
    n = size(spec)
    distance = distances(n)
    rows: list[Row] = [
        (distance[crossed(node, d)], node, d, unit) for _, node, d, unit in clusters(n)
    ]
    assert all(distance[node] == level - 1 for level, node, _, _ in rows)
    messages = {(node, 0) for node in nodes(n)}
    largest, holds = execute(expanded(rows, n), {node: {(node, 0)} for node in nodes(n)})
    assert all(holds[node] == messages for node in nodes(n))
    return first_difference(n, list(largest.values()), diameter(n))
