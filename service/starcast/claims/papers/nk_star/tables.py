"""Li, Chen, Xiang & Yao, Tables 1 and 2: the rows of the algorithms, as executed, and what is said of the tables."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.growth import Number, divided, greatest, sqrt
from starcast.claims.reference.nk_congestion import least_loads, least_sends, least_sum, shared
from starcast.claims.reference.nk_labels import size
from starcast.claims.reference.nk_loads import (
    all_port,
    each_class,
    height_at_most,
    most,
    one_port,
    quotient,
    spread,
    sub_slots,
)
from starcast.claims.reference.nk_pipelines import MANY_TREES, ONE_TREE, executed, heights, weight
from starcast.claims.reference.pipelines import Pipeline
from starcast.claims.registry import register
from starcast.support.integers import ceil_div

# Table 1, one tree


def _one_tree(check: ClaimCheck, ports: str) -> None:
    """One tree as executed: D+p-1 slots of m/p bytes all-port; one-port at most n-1 times that, and (n-1)m bytes or more."""
    n, high = check.topology.n, nk_diameter(check.topology.n, size(check.topology))
    made = executed(check, ONE_TREE, ports)
    for p in range(1, len(made.steps) + 1):
        slots = Fraction(high + p - 1)
        if ports == "all":
            check.equal("start-ups", made.steps[p - 1], high + p - 1, p=p, of=made.made)
            check.equal("bytes over m", made.share(p), slots / p, p=p, of=made.made)
        else:
            check.true(
                "start-ups are at most (n-1)(D+p-1)",
                made.steps[p - 1] <= (n - 1) * slots,
                p=p,
                of=made.made,
            )
            within = n - 1 <= made.share(p) <= (n - 1) * slots / p
            check.true(
                "bytes are at least (n-1)m and at most (n-1)(D+p-1)m/p", within, p=p, of=made.made
            )


def _one_tree_start_up(check: ClaimCheck, ports: str) -> None:
    _one_tree(check, ports)
    if ports == "all":
        check.order("D T_s over D T_s", lambda n, k: divided(nk_diameter(n, k), nk_diameter(n, k)))
    else:
        check.order(
            "(n-1)D T_s over n D T_s",
            lambda n, k: divided((n - 1) * nk_diameter(n, k), n * nk_diameter(n, k)),
        )


def _one_tree_transmission(check: ClaimCheck, ports: str) -> None:
    _one_tree(check, ports)
    if ports == "all":
        check.order("m T_c over m T_c/(n-1)", lambda n, _: divided(1, divided(1, n - 1)))
        check.correction("O(m T_c): the one tree carries all m bytes").order(
            "m T_c over m T_c", lambda *_: divided(1, 1)
        )
        return
    check.order("(n-1)m T_c over m T_c", lambda n, _: n - 1)
    true = check.correction(
        "O((n-1)m T_c): the source sends the whole message to n-1 children, one after the other"
    )
    true.order("(n-1)m T_c over (n-1)m T_c", lambda n, _: divided(n - 1, n - 1))


def _one_tree_overall(check: ClaimCheck, ports: str) -> None:
    _one_tree(check, ports)
    if ports == "all":
        words = "time over D T_s + m T_c/(n-1) + 2 sqrt(m(D-1)T_s T_c/(n-1))"
        check.order(words, lambda n, k: _over(n, k, 1, Fraction(1, n - 1)))
        true = check.correction(
            "O(D T_s + m T_c + 2 sqrt(m(D-1)T_s T_c)): n-1 times the bytes, since the one tree carries all of them"
        )
        true.order(
            "time over D T_s + m T_c + 2 sqrt(m(D-1)T_s T_c)", lambda n, k: _over(n, k, 1, 1)
        )
        return
    check.order("time with T_s = 0, (n-1)m T_c, over m T_c", lambda n, _: n - 1)
    true = check.correction(
        "O((n-1)(D T_s + m T_c + 2 sqrt(m(D-1)T_s T_c))): n-1 times the bytes, since the source has n-1 children; and for k = "
        "1, so D = 1, no start-up at all is stated"
    )
    true.order(
        "time over (n-1)(D T_s + m T_c + 2 sqrt(m(D-1)T_s T_c))", lambda n, k: _over(n, k, n - 1, 1)
    )


@cache  # every size asks for the same huge n
def _over(n: int, k: int, slot: Number, share: Number) -> Number:
    """The pipeline of one tree with its best whole p over slot (D T_s + share m T_c + 2 sqrt(share m (D-1) T_s T_c))."""
    high = nk_diameter(n, k)

    def stated(start: Number, b: Number) -> Number:
        return slot * (high * start + share * b + 2 * sqrt(share * b * (high - 1) * start))

    loads = [(1, 0), (0, 1), *((1, Fraction(n) ** power) for power in range(-2, 5))]
    line = Pipeline(high, 1, slot)
    return greatest(divided(line.least_whole(*load), stated(*load)) for load in loads)


# Table 1, trees MT


def _many(check: ClaimCheck, ports: str) -> None:
    """The trees MT: at most 2D high; the start-ups with 1 and 2 segments follow the greatest height, all-port."""
    n, topology = check.topology.n, check.topology
    high = int(heights(check, MANY_TREES).max())
    check.true(
        "the trees span, and are at most 2D high", 0 < high <= height_at_most(n, size(topology))
    )
    for p in (1, 2):
        made = check.objects.schedule(topology.spec, "broadcast", MANY_TREES, ports, segments=p)
        took = check.execute(made)
        slots = took.steps if ports == "all" else ceil_div(took.steps, n - 1)
        check.equal("slots", slots, high + p - 1, p=p, of=made)
        check.true(
            "a packet has at most one segment a tree",
            took.largest_packet <= (n - 1) * p,
            p=p,
            of=made,
        )


def _many_start_up(check: ClaimCheck, ports: str) -> None:
    _many(check, ports)
    if ports == "all":
        words = "2D T_s, no less than the time with T_c = 0, over (2D-1)T_s"
        check.order(words, lambda n, k: divided(height_at_most(n, k), 2 * nk_diameter(n, k) - 1))
    else:
        words = "2(n-1)D T_s, no less than the time with T_c = 0, over (n-1)(2D-1)T_s"
        check.order(
            words,
            lambda n, k: divided(
                (n - 1) * height_at_most(n, k), (n - 1) * (2 * nk_diameter(n, k) - 1)
            ),
        )


def _many_transmission(check: ClaimCheck) -> None:
    """All-port, with p without end: the congestion c, so many segments in every slot."""
    _many(check, "all")
    made = executed(check, MANY_TREES, "all")
    load = checkers.loads(
        check.topology, check.objects.forest(check.topology.spec, MANY_TREES).parent_port, 0
    )
    check.equal(
        "segments that one more adds to the largest packets",
        made.further,
        int(load.max()),
        of=made.made,
    )
    check.true("the congestion is at most n-1", int(load.max()) <= check.topology.n - 1)
    words = "m T_c, no less than c m/(n-1) T_c, over m(N-1)/(n-1) T_c"
    check.order(words, lambda n, k: divided(n - 1, arrangements(n, k) - 1))


def _many_overall(check: ClaimCheck) -> None:
    _many(check, "all")
    check.order(
        "2D(T_s + m T_c), no less than the time with p = 1, over (2D-1)T_s + m(N-1)/(n-1) T_c",
        lambda n, k: quotient(
            (height_at_most(n, k), 2 * nk_diameter(n, k) - 1),
            (height_at_most(n, k), divided(arrangements(n, k) - 1, n - 1)),
        ),
    )


def _many_one_port(check: ClaimCheck) -> None:
    """Transmission and overall, one-port: with T_s = 0 the bytes of the sub-slots grow like n m, with any p."""
    n, k, topology = check.topology.n, size(check.topology), check.topology
    _many(check, "one")
    load = checkers.loads(topology, check.objects.forest(topology.spec, MANY_TREES).parent_port, 0)
    sub_slot = load.max(axis=0)
    high = int(heights(check, MANY_TREES).max())
    packets = []
    for p in (high, high + 1):
        made = check.objects.schedule(topology.spec, "broadcast", MANY_TREES, "one", segments=p)
        packets.append(int(check.execute(made).packet_sizes.sum()))
        check.true(
            "p segments take at least p times the loads of the fullest links",
            packets[-1] >= p * int(sub_slot.sum()),
            p=p,
        )
    check.equal(
        "segments that one more adds to the packets", packets[1] - packets[0], int(sub_slot.sum())
    )
    check.true(
        "port k+s has a link of load min{s, k-1, n-k-1} or more, every port one of 1 or more",
        sub_slot >= least_loads(n, k),
    )
    check.true(
        "the links and the trees of which this is proved for all n and k are there",
        shared(check.objects, topology),
    )
    words = "((k-1) + sum over s = 1..n-k of max{1, min{s, k-1, n-k-1}})/(n-1), no more than the bytes over m, over 1"
    check.order(words, lambda n, k: divided(least_sum(n, k), n - 1))
    other = check.reading(
        "no sub-slots: only what a node itself sends, one packet after the other, takes time"
    )
    other.true(
        "the busiest node sends at least so often", load.sum(axis=1).max() >= least_sends(n, k)
    )
    other.order(
        "max{n-1, t(n-k-t+1)}/(n-1) with the best t < k, t < n-k, no more than the bytes over m of one node, over 1",
        lambda n, k: divided(least_sends(n, k), n - 1),
    )
    true = check.correction(
        "its bytes are at least that sum over n-1, times m, which for k = n/2 grows like n m, and with p without end at most "
        "c m, c the congestion of the trees"
    )
    true.at_least("bytes over m, times n-1", sub_slot.sum(), least_sum(n, k))
    true.at_most("bytes over m, times n-1", sub_slot.sum(), (n - 1) * int(load.max()))


# Table 2


def _levels(check: ClaimCheck, construction: str, ports: str) -> None:
    """What every cell of Table 2 rests on, counted: the height, and the bytes of the levels."""
    n, k, topology = check.topology.n, size(check.topology), check.topology
    found = spread(check.objects, topology, construction)
    high = len(found)
    if construction == ONE_TREE:
        check.equal("levels", high, nk_diameter(n, k))
    else:
        check.true("levels are at most 2D", high <= height_at_most(n, k))
    if ports == "all":
        check.equal("bytes over m, each class of links by itself", each_class(found), most(n, k))
        check.true("bytes over m are no more", all_port(found) <= most(n, k))
    else:
        check.equal("bytes over m", one_port(topology, found), arrangements(n, k) - 1)
        check.true(
            "start-ups are at most n-1 for every level",
            sub_slots(topology, found) <= (n - 1) * high,
        )


_Terms = Callable[[int, int], Number]


def _found(construction: str, ports: str) -> tuple[_Terms, _Terms]:
    """No less than the start-ups and the bytes over m of all-to-all broadcast."""
    slots: _Terms = nk_diameter if construction == ONE_TREE else height_at_most
    if ports == "all":
        return slots, most
    return lambda n, k: (n - 1) * slots(n, k), lambda n, k: arrangements(n, k) - 1


def _stated(construction: str, ports: str) -> tuple[_Terms, _Terms]:
    """The start-ups and the bytes over m in the cells of Table 2."""
    one = construction == ONE_TREE
    if ports == "all":
        return (
            nk_diameter if one else lambda n, k: 2 * nk_diameter(n, k) - 1,
            lambda n, k: divided(arrangements(n, k) - 1, n - 1),
        )
    return (
        lambda n, k: (
            n * (n - 1) * nk_diameter(n, k) if one else (n - 1) * (2 * nk_diameter(n, k) - 1)
        ),
        lambda n, k: arrangements(n, k) - 1,
    )


def _cell2(check: ClaimCheck, construction: str, ports: str, column: str, words: str) -> None:
    _levels(check, construction, ports)
    found, stated = _found(construction, ports), _stated(construction, ports)
    chosen = {"start-up": (0,), "transmission": (1,), "overall": (0, 1)}[column]
    check.order(
        f"{'time' if column == 'overall' else column} over {words}",
        lambda n, k: quotient(*((found[i](n, k), stated[i](n, k)) for i in chosen)),
    )


# The cells

_COLUMNS = ("start-up", "transmission", "overall")
_TREES = {ONE_TREE: "one-tree", MANY_TREES: "many-trees"}
_CHEN = {
    "all": ("(2D-1)T_s", "4m/(n-1) T_c", "(2D-1)T_s + 4m/(n-1) T_c"),
    "one": (
        "(2nk-n-k^2)T_s",
        "2m T_c + m(n-k-2)(n-k+1)!/n! T_c",
        "(2nk-n-k^2)T_s + 2m T_c + m(n-k-2)(n-k+1)!/n! T_c",
    ),
}
_TABLE1 = {
    (ONE_TREE, "all"): (
        "D T_s",
        "m/(n-1) T_c",
        "D T_s + m/(n-1) T_c + 2 sqrt(m(D-1)T_s T_c/(n-1))",
    ),
    (MANY_TREES, "all"): ("(2D-1)T_s", "m(N-1)/(n-1) T_c", "(2D-1)T_s + m(N-1)/(n-1) T_c"),
    (ONE_TREE, "one"): ("n D T_s", "m T_c", "(n-1)(D-1)T_s + m T_c + 2 sqrt(m(n-1)(D-1)T_s T_c)"),
    (MANY_TREES, "one"): (
        "(n-1)(2D-1)T_s",
        "m T_c",
        "(n-1)(2D-1)T_s + m T_c + 2 sqrt(m(n-1)(2D-1)T_s T_c)",
    ),
}
_TABLE2 = {
    (ONE_TREE, "all"): ("D T_s", "m(N-1)/(n-1) T_c", "D T_s + m(N-1)/(n-1) T_c"),
    (MANY_TREES, "all"): ("(2D-1)T_s", "m(N-1)/(n-1) T_c", "(2D-1)T_s + m(N-1)/(n-1) T_c"),
    (ONE_TREE, "one"): ("n(n-1)D T_s", "(N-1)m T_c", "n(n-1)D T_s + (N-1)m T_c"),
    (MANY_TREES, "one"): ("(n-1)(2D-1)T_s", "(N-1)m T_c", "(n-1)(2D-1)T_s + (N-1)m T_c"),
}
_CHECKS1: dict[tuple[str, str], tuple[Callable[[ClaimCheck], None], ...]] = {
    (ONE_TREE, ports): tuple(
        partial(verify_cell, ports=ports)
        for verify_cell in (_one_tree_start_up, _one_tree_transmission, _one_tree_overall)
    )
    for ports in ("all", "one")
} | {
    (MANY_TREES, "all"): (partial(_many_start_up, ports="all"), _many_transmission, _many_overall),
    (MANY_TREES, "one"): (partial(_many_start_up, ports="one"), _many_one_port, _many_one_port),
}


def _chen(check: ClaimCheck, ports: str) -> None:
    check.absent(
        f"the {ports}-port broadcast of Y.S. Chen & Tai [4]",
        "the broadcast of Y.S. Chen & Tai is only cited: the cell is all that the papers have of it, no algorithm and no "
        "other formula",
    )


def _declare() -> None:
    for ports in _CHEN:
        for column in _COLUMNS:
            register(
                f"NK.Tab1.{ports}port-chen-{column.replace('-', '')}", partial(_chen, ports=ports)
            )
    for trees, ports in _TABLE1:
        for column, verify_cell in zip(_COLUMNS, _CHECKS1[trees, ports], strict=True):
            register(
                f"NK.Tab1.{ports}port-{_TREES[trees]}-{column.replace('-', '')}",
                verify_cell,
                bytes_per_node=weight,
            )
    for (trees, ports), cells in _TABLE2.items():
        for column, cell in zip(_COLUMNS, cells, strict=True):
            register(
                f"NK.Tab2.{ports}port-{_TREES[trees]}-{column.replace('-', '')}",
                partial(_cell2, construction=trees, ports=ports, column=column, words=cell),
            )


_declare()
