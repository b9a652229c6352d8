"""Tseng & Sheu 1997, Tables 1 and 2: orders of start-up, transmission and overall time, and times.

`TABLE_1` and `OURS` have one row of data per claim.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter, even_share
from starcast.claims.growth import Number, divided, factorial, log2, sqrt
from starcast.claims.papers.tseng_sheu import closed_forms as forms
from starcast.claims.papers.tseng_sheu.closed_forms import SMALL
from starcast.claims.providers import executions
from starcast.claims.reference.pipelines import Time, exact_time
from starcast.claims.reference.surds import add_sqrt
from starcast.claims.registry import check, check_rows

PARTS = ("startup", "transmission", "overall")


@dataclass(frozen=True)
class Order:
    """An order that a cell states, in words and as a function of n, T_s and b = m T_c."""

    words: str
    order: Time


@dataclass(frozen=True)
class Broadcast:
    """A row of Table 1.

    Attributes:
        words: the closed form.
        time: the closed form as a function of n, T_s and b = m T_c, with the best p if it has one.
        execute: checks the closed form by execution; None if the algorithm is only cited.
        orders: the orders of start-up, transmission and overall time.
    """

    words: str
    time: Time
    execute: Callable[[ClaimCheck], None] | None
    orders: tuple[Order, Order, Order]


#: A cell of Table 1: its row, its part, and the stated order.
TimeCell = tuple[Broadcast, str, Order]


def check_phases(check: ClaimCheck) -> None:
    """Check the closed form of the sum of ceil(log2 i)."""
    n = check.n
    check.equal("sum of ceil(log2 i), i = 2..n", forms.phases(n), forms.sum_of_phases(n))


LINEAR = Order("n T_s", lambda n, startup, _: n * startup)
SQUARE = Order("n^2 T_s", lambda n, startup, _: n * n * startup)
N_LOG_N = Order("n log n T_s", lambda n, startup, _: n * log2(n) * startup)
MESSAGE = Order("m T_c", lambda _n, _startup, b: b)
ONE_TREE = (LINEAR, MESSAGE, Order("n T_s + sqrt(n m T_s T_c) + m T_c", forms.one_tree_order))
BY_PHASES = Broadcast(
    "(sum of ceil(log2 i), i = 2..n)(T_s + m T_c)",
    lambda n, startup, b: forms.phases(n) * (startup + b),
    check_phases,
    (
        N_LOG_N,
        Order("n m log n T_c", lambda n, _startup, b: n * log2(n) * b),
        Order("n log n (T_s + m T_c)", lambda n, startup, b: n * log2(n) * (startup + b)),
    ),
)
TABLE_1 = {
    "sheu93": Broadcast(
        "(2n-4+p)(T_s + m T_c/p), best real p",
        forms.with_best_real(forms.sheu93),
        forms.check_sheu93,
        ONE_TREE,
    ),
    "day": Broadcast(
        "(D_n-1+p)(T_s + m T_c/p), best real p",
        forms.with_best_real(forms.day),
        forms.check_day,
        ONE_TREE,
    ),
    "ours-allport": Broadcast(
        "(h+p-1)(T_s + 2m T_c/(p(n-1))), best whole p",
        forms.theorem1_time,
        forms.check_algorithm1,
        (
            LINEAR,
            Order("m T_c/n", lambda n, _startup, b: divided(b, n)),
            Order("n T_s + sqrt(m T_s T_c) + m T_c/n", forms.theorem1_order),
        ),
    ),
    "misic": Broadcast(
        "n(n-1)/2 (T_s + m T_c)",
        lambda n, startup, b: n * (n - 1) // 2 * (startup + b),
        None,
        (
            SQUARE,
            Order("n^2 m T_c", lambda n, _startup, b: n * n * b),
            Order("n^2 T_s + n^2 m T_c", lambda n, startup, b: n * n * (startup + b)),
        ),
    ),
    "akl": BY_PHASES,
    "mendia": BY_PHASES,
    "sheu95": Broadcast(
        "((p-1) log2 n + n log2 n)(T_s + m T_c/p), best real p",
        forms.with_best_real(forms.sheu95),
        None,
        (
            N_LOG_N,
            Order("m log n T_c", lambda n, _startup, b: b * log2(n)),
            Order(
                "log n (n T_s + sqrt(n m T_s T_c) + m T_c)",
                lambda n, *load: log2(n) * forms.one_tree_order(n, *load),
            ),
        ),
    ),
    "ours-oneport": Broadcast(
        "(n-1)(h+p-1)(T_s + 2m T_c/(p(n-1))), best whole p",
        forms.theorem2_time,
        partial(forms.check_algorithm1, ports="one"),
        (SQUARE, MESSAGE, Order("n^2 T_s + n sqrt(m T_s T_c) + m T_c", forms.theorem2_order)),
    ),
}
#: Whether a load belongs to a part: T_c = 0, T_s = 0, any.
IN_PART: dict[str, Callable[[int, Number, Number], bool]] = {
    "startup": lambda _n, _startup, b: not b,
    "transmission": lambda _n, startup, _b: not startup,
    "overall": lambda *_: True,
}


def order_of_part(check: ClaimCheck, cell: TimeCell) -> None:
    """Check a cell of Table 1: the order of a part of the closed form."""
    row, part, stated = cell
    if row.execute is not None:
        row.execute(check)
    what = f"{row.words} over {stated.words}"
    forms.check_time_order(check, what, row.time, stated.order, IN_PART[part])


def table_1_cells(*names: str) -> dict[str, TimeCell]:
    """Return the cells of rows of Table 1, by claim id."""
    return {
        f"TS.Tab1.{name}-{part}": (TABLE_1[name], part, stated)
        for name in names
        for part, stated in zip(PARTS, TABLE_1[name].orders, strict=True)
    }


check_rows(order_of_part, table_1_cells("sheu93", "day", "misic", "akl", "mendia", "sheu95"))
check_rows(
    order_of_part,
    table_1_cells("ours-allport", "ours-oneport"),
    bytes_per_node=lambda topology, _: forms.multiple_bytes(topology),
)


def qiu_is_only_cited(check: ClaimCheck, _part: str) -> None:
    """Record that no closed form of Qiu's time is in the papers."""
    check.absent(
        "[14], Qiu's broadcast",
        "the algorithm of Qiu [14] is only cited, and section 6.1 gives orders but no closed form "
        "of its time",
    )


check_rows(qiu_is_only_cited, {f"TS.Tab1.qiu-{part}": part for part in PARTS})


# Table 2


def run_by_level(check: ClaimCheck, construction: str) -> tuple[int, Fraction]:
    """Execute the allgather by levels; return its steps, and the messages that cross a link."""
    simulation = check.execute(forms.allgather_by_level(check, construction))
    return simulation.steps, Fraction(int(simulation.packet_sizes.sum()))


def short_necklaces_squared(n: int) -> Number:
    """Return (n-1)^2 n!, whose square root bounds the number of nodes in short necklaces.

    These are necklaces of fewer than n-1 nodes. Such a node commutes with a power of the rotation
    of some order L >= 2, which has g = (n-1)/L cycles and leaves one symbol unchanged. L^g g! nodes
    do, most for L = 2, when that is (2g)!! <= sqrt((2g+1)!) <= sqrt(n!). There are fewer than n-1
    such powers.
    """
    return (n - 1) ** 2 * factorial(n)


@check("TS.Tab2.frago-ham-startup")
def hamiltonian_startup(check: ClaimCheck) -> None:
    """Check the steps of rotated Hamiltonian paths, and their order."""
    forms.check_hamiltonian(check)
    forms.check_quotient(check, "ceil((n!-1)/(n-1)) over (n-1)!")


@check("TS.Tab2.frago-ham-transmission")
def hamiltonian_transmission(check: ClaimCheck) -> None:
    """Check the messages of rotated Hamiltonian paths, and their order."""
    forms.check_hamiltonian(check)
    forms.check_quotient(check, "ceil((n!-1)/(n-1)) over (n!-1)/(n-1)")


@check("TS.Tab2.frago-ham-overall")
def hamiltonian_time(check: ClaimCheck) -> None:
    """Check the time of rotated Hamiltonian paths."""
    n = check.n
    (run,) = executions("allgather", "rotated-hamiltonian", messages=1)(check)
    observed = exact_time(run.simulation, run.schedule.units, SMALL)
    stated = SMALL.time(factorial(n - 1), Fraction(factorial(n) - 1, n - 1))
    check.equal("time", observed, stated, of=run.schedule, **SMALL.place)
    correction = check.correction(
        "it takes ceil((n!-1)/(n-1)) steps, hence ceil((n!-1)/(n-1))(T_s + m T_c)"
    )
    correction.equal("time", observed, SMALL.time(even_share(n), even_share(n)), **SMALL.place)
    by_level = check.reading(
        "the tree run level by level, all messages of a link and level in one packet, takes that "
        "time"
    )
    steps, carried = run_by_level(by_level, "rotated-hamiltonian")
    by_level.equal("time", SMALL.time(steps, carried), stated, **SMALL.place)


@check("TS.Tab2.frago-nl-startup")
def necklace_startup(check: ClaimCheck) -> None:
    """Check the steps of the necklace tree, and their order."""
    steps, _ = run_by_level(check, "necklace")
    check.equal("steps", steps, diameter(check.n))
    forms.check_quotient(check, "D_n over n")


@check("TS.Tab2.frago-nl-transmission")
def necklace_transmission(check: ClaimCheck) -> None:
    """Check that short necklaces bound the messages per link beyond the even share."""
    _, carried = run_by_level(check, "necklace")
    bound = add_sqrt(forms.messages_per_link(check.n), short_necklaces_squared(check.n))
    check.at_most("messages a link", carried, np.array(bound, dtype=object))

    def quotient(n: int) -> Number:
        return 1 + divided(sqrt(short_necklaces_squared(n)), forms.messages_per_link(n))

    check.order("(n!-1)/(n-1) + (n-1) sqrt(n!) over (n!-1)/(n-1)", quotient)


@check("TS.Tab2.frago-nl-overall")
def necklace_time(check: ClaimCheck) -> None:
    """Check the time of the necklace tree, level by level."""
    steps, carried = run_by_level(check, "necklace")
    observed = SMALL.time(steps, carried)
    share = Fraction(factorial(check.n) - 1, check.n - 1)
    stated = SMALL.time(diameter(check.n), share)
    schedule = forms.allgather_by_level(check, "necklace")
    check.equal("time", observed, stated, of=schedule, **SMALL.place)
    tree = check.forest("necklace")
    links = checkers.level_dimensions(check.topology, tree.parent_port, tree.root)[1:]
    correction = check.correction(
        "it takes D_n T_s + c m T_c, c the sum over the levels of the most links of one dimension, "
        "more than (n!-1)/(n-1)"
    )
    corrected = SMALL.time(diameter(check.n), int(links.max(axis=1).sum()))
    correction.equal("time", observed, corrected, **SMALL.place)
    correction.true("more than (n!-1)/(n-1)", carried > share)
    segmented = check.reading(
        "each message cut into n-1 segments, one down each of the n-1 trees DC(i, T), as Algorithm "
        "2 sends, it takes that time"
    )
    for run in forms.algorithm2(base="necklace")(segmented):
        observed = exact_time(run.simulation, run.schedule.units, SMALL)
        segmented.equal("time", observed, stated, of=run.schedule, **SMALL.place)


#: Cells about Algorithm 2: port model, and the quotient of a stated order.
OURS: dict[str, tuple[str, str | None]] = {
    "TS.Tab2.ours-allport-startup": ("all", "D_n over n"),
    "TS.Tab2.ours-allport-transmission": ("all", "(n!-1)/(n-1) over (n!-1)/(n-1)"),
    "TS.Tab2.ours-allport-overall": ("all", None),
    "TS.Tab2.ours-oneport-startup": ("one", "(n-1) D_n over n^2"),
    "TS.Tab2.ours-oneport-transmission": ("one", "n!-1 over n!"),
    "TS.Tab2.ours-oneport-overall": ("one", None),
}


def time_of_algorithm2(check: ClaimCheck, cell: tuple[str, str | None]) -> None:
    """Check the exact time of Algorithm 2, and the order of one of its terms."""
    ports, quotient = cell
    forms.check_theorem3(check, ports)
    if quotient is not None:
        forms.check_quotient(check, quotient)


check_rows(time_of_algorithm2, OURS)
# The algorithm is only cited: its closed form is compared with the stated order.
check_rows(
    forms.check_quotient,
    {f"TS.Tab2.misic-{part}": "n!-1 over n!" for part in ("startup", "transmission")},
)


@check("TS.Tab2.misic-overall")
def misic_is_only_cited(check: ClaimCheck) -> None:
    """Record that the closed form of Misic's time is the cell itself."""
    check.absent(
        "[13], Misic's allgather",
        "the algorithm of Misic and Jovanovic [13] is only cited, and the only closed form of its "
        "time is this cell itself",
    )
