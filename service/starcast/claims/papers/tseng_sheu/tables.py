"""Tseng & Sheu 1997, Tables 1 and 2: orders of start-up, transmission and overall time, and exact times."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter, even_share
from starcast.claims.growth import Number, divided, factorial, log2, sqrt
from starcast.claims.model import CheckFunction
from starcast.claims.papers.tseng_sheu.closed_forms import (
    SMALL,
    by_level,
    day,
    held_day,
    held_hamiltonian,
    held_sheu93,
    held_theorem1,
    held_theorem2,
    held_theorem3,
    sheu93,
    sheu95,
    theorem1,
    theorem2,
    weight,
)
from starcast.claims.papers.tseng_sheu.optimality import phases
from starcast.claims.reference.pipelines import Time, exact_time, greatest
from starcast.claims.reference.surds import add_sqrt
from starcast.claims.registry import register

PARTS = ("startup", "transmission", "overall")


class Order(NamedTuple):
    """What a cell states: in words, and as a function of n, T_s and b = m T_c."""

    words: str
    of: Time


class Row(NamedTuple):
    """A row of Table 1.

    Attributes:
        name: in the ids.
        number: of the reference, or whose.
        words: the closed form.
        time: the closed form, of n, T_s and b = m T_c, at the best p where there is one.
        held: holds it against executions, where the house has the algorithm.
        cells: start-up, transmission, overall.
    """

    name: str
    number: str
    words: str
    time: Time
    held: Callable[[ClaimCheck], None] | None
    cells: tuple[Order, Order, Order]


def _sent_whole(count: Callable[[int], int]) -> Time:
    return lambda n, start, b: count(n) * (start + b)


def _held_phases(check: ClaimCheck) -> None:
    n = check.topology.n
    check.equal(
        "sum of ceil(log2 i), i = 2..n",
        phases(n),
        sum((i - 1).bit_length() for i in range(2, n + 1)),
    )


LINEAR = Order("n T_s", lambda n, start, _: n * start)
SQUARE = Order("n^2 T_s", lambda n, start, _: n * n * start)
N_LOG_N = Order("n log n T_s", lambda n, start, _: n * log2(n) * start)
MESSAGE = Order("m T_c", lambda _n, _start, b: b)
ONE_TREE = (
    LINEAR,
    MESSAGE,
    Order(
        "n T_s + sqrt(n m T_s T_c) + m T_c", lambda n, start, b: n * start + sqrt(n * start * b) + b
    ),
)
BY_PHASES = (
    N_LOG_N,
    Order("n m log n T_c", lambda n, _start, b: n * log2(n) * b),
    Order("n log n (T_s + m T_c)", lambda n, start, b: n * log2(n) * (start + b)),
)
TABLE1 = (
    Row(
        "sheu93", "[16]", "(2n-4+p)(T_s + m T_c/p), best real p",
        lambda n, *load: sheu93(n).least(*load), held_sheu93, ONE_TREE,
    ),
    Row(
        "day", "[7]", "(D_n-1+p)(T_s + m T_c/p), best real p",
        lambda n, *load: day(n).least(*load), held_day, ONE_TREE,
    ),
    Row(
        "ours-allport", "ours, all-port", "(h+p-1)(T_s + 2m T_c/(p(n-1))), best whole p",
        lambda n, *load: theorem1(n).least_whole(*load), held_theorem1,
        (
            LINEAR,
            Order("m T_c/n", lambda n, _start, b: divided(b, n)),
            Order("n T_s + sqrt(m T_s T_c) + m T_c/n", lambda n, start, b: n * start + sqrt(start * b) + divided(b, n)),
        ),
    ),
    Row(
        "misic", "[13]", "n(n-1)/2 (T_s + m T_c)", _sent_whole(lambda n: n * (n - 1) // 2), None,
        (
            SQUARE,
            Order("n^2 m T_c", lambda n, _start, b: n * n * b),
            Order("n^2 T_s + n^2 m T_c", lambda n, start, b: n * n * (start + b)),
        ),
    ),
    Row("akl", "[2]", "(sum of ceil(log2 i), i = 2..n)(T_s + m T_c)", _sent_whole(phases), _held_phases, BY_PHASES),
    Row("mendia", "[12]", "(sum of ceil(log2 i), i = 2..n)(T_s + m T_c)", _sent_whole(phases), _held_phases, BY_PHASES),
    Row(
        "sheu95", "[17]", "((p-1) log2 n + n log2 n)(T_s + m T_c/p), best real p",
        lambda n, *load: sheu95(n).least(*load), None,
        (
            N_LOG_N,
            Order("m log n T_c", lambda n, _start, b: b * log2(n)),
            Order(
                "log n (n T_s + sqrt(n m T_s T_c) + m T_c)",
                lambda n, start, b: log2(n) * (n * start + sqrt(n * start * b) + b),
            ),
        ),
    ),
    Row(
        "ours-oneport", "ours, one-port", "(n-1)(h+p-1)(T_s + 2m T_c/(p(n-1))), best whole p",
        lambda n, *load: theorem2(n).least_whole(*load), held_theorem2,
        (
            SQUARE,
            MESSAGE,
            Order("n^2 T_s + n sqrt(m T_s T_c) + m T_c", lambda n, start, b: n * n * start + n * sqrt(start * b) + b),
        ),
    ),
)  # fmt: skip
#: Whether a load of `pipelines.loads` belongs to a part: T_c = 0, T_s = 0, any.
CHOSEN: dict[str, Callable[[Number, Number], bool]] = {
    "startup": lambda _start, b: not b,
    "transmission": lambda start, _b: not start,
    "overall": lambda *_: True,
}


def _cell(row: Row, part: str, stated: Order) -> CheckFunction:
    def verify_cell(check: ClaimCheck) -> None:
        if row.held is not None:
            row.held(check)
        check.order(
            f"{row.words} over {stated.words}",
            lambda n: greatest(n, row.time, stated.of, CHOSEN[part]),
        )

    return verify_cell


for _row in TABLE1:
    for _part, _stated in zip(PARTS, _row.cells, strict=True):
        register(
            f"TS.Tab1.{_row.name}-{_part}",
            _cell(_row, _part, _stated),
            bytes_per_node=weight if _row.name.startswith("ours") else None,
        )


def _qiu(check: ClaimCheck) -> None:
    check.absent(
        "[14], Qiu's broadcast",
        "the algorithm of Qiu [14] is only cited, and section 6.1 gives orders but no closed form of its time",
    )


for _part in PARTS:
    register(f"TS.Tab1.qiu-{_part}", _qiu)


# Table 2


def _by_level(check: ClaimCheck, construction: str) -> tuple[int, Fraction]:
    """Steps, and messages that pass a link, of the allgather down the translates of one tree level by level, executed."""
    took = check.execute(by_level(check.objects, check.topology.spec, construction))
    return took.steps, Fraction(int(took.packet_sizes.sum()))


def _share(n: int) -> Number:
    """(n!-1)/(n-1)."""
    return divided(factorial(n) - 1, n - 1)


def _short(n: int) -> Number:
    """The square of a number that is at least that of the nodes in necklaces of fewer than n-1: (n-1)^2 n!.

    Such a node commutes with a power of the rotation of some order L >= 2, which has g = (n-1)/L cycles and leaves one symbol.
    L^g g! nodes do, most for L = 2, when that is (2g)!! <= sqrt((2g+1)!) <= sqrt(n!). There are fewer than n-1 such powers.
    """
    return (n - 1) ** 2 * factorial(n)


def _ham_startup(check: ClaimCheck) -> None:
    held_hamiltonian(check)
    check.order(
        "ceil((n!-1)/(n-1)) over (n-1)!", lambda n: divided(even_share(n), factorial(n - 1))
    )


def _ham_transmission(check: ClaimCheck) -> None:
    held_hamiltonian(check)
    check.order("ceil((n!-1)/(n-1)) over (n!-1)/(n-1)", lambda n: divided(even_share(n), _share(n)))


def _ham_overall(check: ClaimCheck) -> None:
    n = check.topology.n
    made = check.objects.schedule(
        check.topology.spec, "allgather", "rotated-hamiltonian", "all", messages=1
    )
    took = check.execute(made)
    found = exact_time(took, made.units, SMALL)
    bytes_time = SMALL.m * SMALL.T_c * Fraction(factorial(n) - 1, n - 1)
    stated = SMALL.T_s * factorial(n - 1) + bytes_time
    check.equal("time", found, stated, of=made, **SMALL.place)
    true = check.correction(
        "it takes ceil((n!-1)/(n-1)) steps, hence ceil((n!-1)/(n-1))(T_s + m T_c)"
    )
    true.equal("time", found, even_share(n) * (SMALL.T_s + SMALL.m * SMALL.T_c), **SMALL.place)
    other = check.reading(
        "the tree run level by level, all messages of a link and level in one packet, takes that time"
    )
    steps, most = _by_level(other, "rotated-hamiltonian")
    other.equal("time", SMALL.T_s * steps + SMALL.m * SMALL.T_c * most, stated, **SMALL.place)


def _nl_startup(check: ClaimCheck) -> None:
    steps, _ = _by_level(check, "necklace")
    check.equal("steps", steps, diameter(check.topology.n))
    check.order("D_n over n", lambda n: divided(diameter(n), n))


def _nl_transmission(check: ClaimCheck) -> None:
    n = check.topology.n
    _, most = _by_level(check, "necklace")
    check.at_most("messages a link", most, np.array(add_sqrt(_share(n), _short(n)), dtype=object))
    check.order(
        "(n!-1)/(n-1) + (n-1) sqrt(n!) over (n!-1)/(n-1)",
        lambda n: 1 + divided(sqrt(_short(n)), _share(n)),
    )


def _nl_overall(check: ClaimCheck) -> None:
    n = check.topology.n
    steps, most = _by_level(check, "necklace")
    found = SMALL.T_s * steps + SMALL.m * SMALL.T_c * most
    stated = SMALL.T_s * diameter(n) + SMALL.m * SMALL.T_c * Fraction(factorial(n) - 1, n - 1)
    check.equal(
        "time",
        found,
        stated,
        of=by_level(check.objects, check.topology.spec, "necklace"),
        **SMALL.place,
    )
    tree = check.objects.forest(check.topology.spec, "necklace")
    links = checkers.level_dimensions(check.topology, tree.parent_port, tree.root)[1:]
    true = check.correction(
        "it takes D_n T_s + c m T_c, c the sum over the levels of the most links of one dimension, more than (n!-1)/(n-1)"
    )
    true.equal(
        "time",
        found,
        SMALL.T_s * diameter(n) + SMALL.m * SMALL.T_c * int(links.max(axis=1).sum()),
        **SMALL.place,
    )
    true.true("more than (n!-1)/(n-1)", most > Fraction(factorial(n) - 1, n - 1))
    other = check.reading(
        "each message cut into n-1 segments, one down each of the n-1 trees DC(i, T), as Algorithm 2 sends, it takes that time"
    )
    made = check.objects.schedule(
        check.topology.spec, "allgather", "dimension-change", "all", base="necklace"
    )
    other.equal(
        "time", exact_time(other.execute(made), made.units, SMALL), stated, of=made, **SMALL.place
    )


def _ours(ports: str, words: str, quotient: Callable[[int], Number] | None) -> CheckFunction:
    def verify_cell(check: ClaimCheck) -> None:
        held_theorem3(check, ports)
        if quotient is not None:
            check.order(words, quotient)

    return verify_cell


def _cited(words: str, quotient: Callable[[int], Number]) -> CheckFunction:
    return lambda check: check.order(words, quotient)


def _misic_overall(check: ClaimCheck) -> None:
    check.absent(
        "[13], Misic's allgather",
        "the algorithm of Misic and Jovanovic [13] is only cited, and the only closed form of its time is this cell itself",
    )


_TABLE2: dict[str, CheckFunction] = {
    "frago-ham-startup": _ham_startup,
    "frago-ham-transmission": _ham_transmission,
    "frago-ham-overall": _ham_overall,
    "frago-nl-startup": _nl_startup,
    "frago-nl-transmission": _nl_transmission,
    "frago-nl-overall": _nl_overall,
    "ours-allport-startup": _ours("all", "D_n over n", lambda n: divided(diameter(n), n)),
    "ours-allport-transmission": _ours(
        "all", "(n!-1)/(n-1) over (n!-1)/(n-1)", lambda n: divided(_share(n), _share(n))
    ),
    "ours-allport-overall": _ours("all", "", None),
    "misic-startup": _cited("n!-1 over n!", lambda n: divided(factorial(n) - 1, factorial(n))),
    "misic-transmission": _cited("n!-1 over n!", lambda n: divided(factorial(n) - 1, factorial(n))),
    "misic-overall": _misic_overall,
    "ours-oneport-startup": _ours(
        "one", "(n-1) D_n over n^2", lambda n: divided((n - 1) * diameter(n), n * n)
    ),
    "ours-oneport-transmission": _ours(
        "one", "n!-1 over n!", lambda n: divided(factorial(n) - 1, factorial(n))
    ),
    "ours-oneport-overall": _ours("one", "", None),
}

for _id, _check in _TABLE2.items():
    register(f"TS.Tab2.{_id}", _check)
