"""Second implementations for the failing claims of Tseng & Sheu 1997."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import count, product
from math import ceil, factorial, gcd

from claims.second_implementation import (
    Comparisons,
    contradiction,
    exceeds,
    execute_allgather,
    reimplements,
    surd,
    unequal,
)
from oracles.allgather import mbst_copies, rotated_hamiltonian
from oracles.rooted_trees import depths
from oracles.schedule_rows import (
    by_dimension,
    deliver_all,
    is_one_port,
    pipelined,
    segments,
)
from oracles.star_graph import Node, compose, diameter, distances, identity, label, nodes, swap
from oracles.tseng_sheu import multiple


def tree_heights(root: Node) -> list[int]:
    """Return the heights of the n-1 trees L-hat, the re-rooted greedy trees of the paper."""
    return [max(depths(tree, root).values()) for tree in multiple(root)]


@reimplements("TS.L5")
def heights(n: int) -> Comparisons:
    """Compare the height of each tree L-hat with D_n + n + gcd(n,i) - 2 (D_n is the diameter)."""
    for root in nodes(n)[:24]:
        for i, height in enumerate(tree_heights(root), 1):
            stated = diameter(n) + n + gcd(n, i) - 2
            yield unequal(height, stated, i=i)


@cache
def execute_algorithm_1(n: int, p: int, one_port: bool) -> int:
    """Return the number of slots of the broadcast by Algorithm 1 with p segments per tree.

    On one-port nodes, each slot has one sub-slot per dimension, and the sub-slots are counted.
    """
    rows = pipelined(multiple(identity(n)), identity(n), segments(n - 1, p))
    if one_port:
        rows = by_dimension(rows, range(2, n + 1))
        assert is_one_port(rows)
    largest = deliver_all(rows, {identity(n): {row.unit for row in rows}}, nodes(n))
    assert max(largest.values()) <= 2
    return ceil(Fraction(max(largest), n - 1)) * (n - 1) if one_port else max(largest)


@reimplements("TS.T1.time")
def first_late(n: int, one_port: bool = False) -> Comparisons:
    """Find m, T_s, T_c for which a broadcast is slower than stated, for any number p of segments.

    The counterexample also states the best p. Theorem 1 states the time on all-port nodes; the time
    on one-port nodes is n-1 times as long (Theorem 2).
    """
    steps = partial(execute_algorithm_1, n, one_port=one_port)
    factor = n - 1 if one_port else 1
    h = max(tree_heights(identity(n)))
    for m, t_s, t_c in product((1, 2), [2**e for e in range(11)], (1, 2)):
        a = Fraction(2 * m * t_c, n - 1)
        rational = factor * ((h - 1) * t_s + a)
        square = factor**2 * 4 * (h - 1) * t_s * a
        times = dict[int, Fraction]()
        for p in count(1):
            # With more segments, the start-ups alone would take longer than the best time so far.
            if times and steps(p) * t_s >= min(times.values()):
                break
            times[p] = steps(p) * (t_s + a / p)
        best = min(times, key=lambda p: times[p])
        if exceeds(times[best], rational, square):
            place = {"m": m, "T_s": t_s, "T_c": t_c, "p": best}
            stated = surd(rational, square)
            yield contradiction(times[best], stated, **place)


reimplements("TS.T2.time")(partial(first_late, one_port=True))


@reimplements("TS.S62-equal")
def translates(n: int) -> Comparisons:
    """Compare the number of translated trees on each directed link with (n!-1)/(n-1)."""
    stated = Fraction(factorial(n) - 1, n - 1)
    for rows in (rotated_hamiltonian(n, 1), mbst_copies(n, 1)):
        loads = Counter((compose(q, row.sender), row.port) for row in rows for q in nodes(n))
        for node, dimension in product(nodes(n), range(2, n + 1)):
            link = f"{label(node)} -> {label(swap(node, dimension))}"
            yield unequal(loads[node, dimension], stated, link=link)


def first_difference(n: int, packets: Sequence[int], startups: int) -> Comparisons:
    """Compare the time of an execution with the stated time, for several values of m, T_s, T_c.

    The stated time is startups T_s + (n!-1)/(n-1) m T_c.
    """
    for m, t_s, t_c in product((1, 2), (1, 2, 4), (1, 2, 4)):
        time = len(packets) * t_s + sum(packets) * m * t_c
        stated = startups * t_s + Fraction(factorial(n) - 1, n - 1) * m * t_c
        yield unequal(time, stated, m=m, T_s=t_s, T_c=t_c)


@reimplements("TS.Tab2.frago-ham-overall")
def hamiltonian_paths(n: int) -> Comparisons:
    """Compare the time of the allgather along rotated Hamiltonian paths with (n-1)! start-ups."""
    packets = execute_allgather(rotated_hamiltonian(n, 1), n)
    assert set(packets) == {1}
    assert len(packets) == ceil(Fraction(factorial(n) - 1, n - 1))
    yield from first_difference(n, packets, factorial(n - 1))


@reimplements("TS.Tab2.frago-nl-overall")
def necklaces_by_level(n: int) -> Comparisons:
    """Compare the time of the allgather along the necklace tree with D_n start-ups.

    In step l, messages cross all tree links from level l-1 to level l. D_n is the diameter.
    """
    distance = distances(identity(n))
    rows = {row._replace(step=distance[row.receiver]) for row in mbst_copies(n, 1)}
    assert all(distance[row.sender] == row.step - 1 for row in rows)
    yield from first_difference(n, execute_allgather(rows, n), diameter(n))
