"""Tseng & Sheu 1997, Tables 1 and 2: times, and orders of start-up, transmission and overall time.

`TIMES` and `ORDERS` hold the rows of Table 1, and `OURS` one row per claim about Algorithm 2 in
Table 2.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, diameter, divide, even_share, factorial, log2, sqrt
from starcast.claims.papers.tseng_sheu import closed_forms as forms
from starcast.claims.papers.tseng_sheu.closed_forms import SMALL
from starcast.claims.reference.pipelines import Time, add_sqrt, exact_time
from starcast.claims.registry import Memory, check_rows, checks, execute
from starcast.records import checkers

PARTS = ("startup", "transmission", "overall")


class Order(NamedTuple):
    """An order that a table cell states, as text and as a function of n, T_s and b = m T_c."""

    words: str
    order: Time


def check_phases(check: ClaimCheck) -> None:
    """Check the sum of ceil(log2 i), and that a one-port broadcast takes no more phases.

    The paper does not describe the cited algorithms, so a broadcast from starcast's records is
    executed.
    """
    n = check.n
    check.equal("sum of ceil(log2 i), i = 2..n", forms.phases(n), forms.sum_of_phases(n))
    if n == 2:  # a single link, for which there is no record
        return
    steps = execute(check, "broadcast", "optimal", "one").steps
    check.at_most("phases of a recorded broadcast", steps, forms.phases(n))


BY_PHASES = (
    "(sum of ceil(log2 i), i = 2..n)(T_s + m T_c)",
    lambda n, startup, b: forms.phases(n) * (startup + b),
)
#: Rows of Table 1: the closed form as text and as a function of n, T_s and b = m T_c, with the best
#: p if there is any.
TIMES: dict[str, tuple[str, Time]] = {
    "sheu93": ("(2n-4+p)(T_s + m T_c/p), best real p", forms.with_best_real(forms.sheu93)),
    "day": ("(D_n-1+p)(T_s + m T_c/p), best real p", forms.with_best_real(forms.day)),
    "ours-allport": ("(h+p-1)(T_s + 2m T_c/(p(n-1))), best whole p", forms.theorem1_time),
    "misic": ("n(n-1)/2 (T_s + m T_c)", lambda n, startup, b: n * (n - 1) // 2 * (startup + b)),
    "akl": BY_PHASES,
    "mendia": BY_PHASES,
    "sheu95": (
        "((p-1) log2 n + n log2 n)(T_s + m T_c/p), best real p",
        forms.with_best_real(forms.sheu95),
    ),
    "ours-oneport": ("(n-1)(h+p-1)(T_s + 2m T_c/(p(n-1))), best whole p", forms.theorem2_time),
}
#: Checks of closed forms by execution; algorithms without an entry are only cited.
EXECUTIONS: dict[str, Callable[[ClaimCheck], None]] = {
    "sheu93": forms.check_sheu93,
    "day": forms.check_day,
    "ours-allport": forms.check_algorithm1,
    "akl": check_phases,
    "mendia": check_phases,
    "ours-oneport": partial(forms.check_algorithm1, ports="one"),
}
LINEAR = Order("n T_s", lambda n, startup, _: n * startup)
SQUARE = Order("n^2 T_s", forms.square_order)
N_LOG_N = Order("n log n T_s", lambda n, startup, _: n * log2(n) * startup)
MESSAGE = Order("m T_c", forms.message_order)
ONE_TREE = Order("n T_s + sqrt(n m T_s T_c) + m T_c", forms.one_tree_order)
ORDERS_BY_PHASES = (
    N_LOG_N,
    Order("n m log n T_c", lambda n, _startup, b: n * log2(n) * b),
    Order("n log n (T_s + m T_c)", lambda n, startup, b: n * log2(n) * (startup + b)),
)
#: The stated orders of start-up, transmission and overall time, for each row of Table 1.
ORDERS = {
    "sheu93": (LINEAR, MESSAGE, ONE_TREE),
    "day": (LINEAR, MESSAGE, ONE_TREE),
    "ours-allport": (
        LINEAR,
        Order("m T_c/n", lambda n, _startup, b: divide(b, n)),
        Order("n T_s + sqrt(m T_s T_c) + m T_c/n", forms.theorem1_order),
    ),
    "misic": (
        SQUARE,
        Order("n^2 m T_c", lambda n, _startup, b: n * n * b),
        Order("n^2 T_s + n^2 m T_c", lambda n, startup, b: n * n * (startup + b)),
    ),
    "akl": ORDERS_BY_PHASES,
    "mendia": ORDERS_BY_PHASES,
    "sheu95": (
        N_LOG_N,
        Order("m log n T_c", lambda n, _startup, b: b * log2(n)),
        Order(
            "log n (n T_s + sqrt(n m T_s T_c) + m T_c)",
            lambda n, *load: log2(n) * forms.one_tree_order(n, *load),
        ),
    ),
    "ours-oneport": (
        SQUARE,
        MESSAGE,
        Order("n^2 T_s + n sqrt(m T_s T_c) + m T_c", forms.theorem2_order),
    ),
}
#: For each part of a time, a function that selects values of T_s and b = m T_c. The start-up is the
#: time for b = 0, the transmission the time for T_s = 0. All values are selected for the overall
#: time.
IN_PART: dict[str, Callable[[int, Number, Number], bool]] = {
    "startup": lambda _n, _startup, b: not b,
    "transmission": lambda _n, startup, _b: not startup,
    "overall": lambda *_: True,
}


def order_of_part(check: ClaimCheck, cell: tuple[str, str]) -> None:
    """Check a cell of Table 1, given as row and part: the order of this part of the row's time."""
    row, part = cell
    if row in EXECUTIONS:
        EXECUTIONS[row](check)
    words, time = TIMES[row]
    stated = ORDERS[row][PARTS.index(part)]
    forms.check_time_order(check, f"{words} over {stated.words}", time, stated.order, IN_PART[part])


for _row in TIMES:
    check_rows(
        order_of_part,
        {f"TS.Tab1.{_row}-{part}": (_row, part) for part in PARTS},
        memory=forms.ALGORITHM_1 if "ours" in _row else Memory(),
    )


def qiu_is_only_cited(check: ClaimCheck, _part: str) -> None:
    """Record that the papers contain no closed form of the time of Qiu's broadcast."""
    check.absent(
        "[14], Qiu's broadcast",
        "the algorithm of Qiu [14] is only cited, and section 6.1 gives orders but no closed form "
        "of its time",
    )


check_rows(qiu_is_only_cited, {f"TS.Tab1.qiu-{part}": part for part in PARTS})


# Table 2


def run_by_level(check: ClaimCheck, construction: str) -> tuple[int, Fraction]:
    """Execute the allgather by levels; return its steps, and the messages per link."""
    simulation = check.execute(forms.allgather_by_level(check, construction))
    return simulation.steps, Fraction(int(simulation.packet_sizes.sum()))


def short_necklaces_squared(n: int) -> Number:
    """Return (n-1)^2 n!, whose square root bounds the number of nodes in short necklaces.

    Short necklaces have fewer than n-1 nodes. Each of their nodes commutes with a power of the
    rotation. If that power has the order L >= 2, it has g = (n-1)/L cycles and leaves one symbol
    unchanged, and L^g g! nodes commute with it. This number is largest for L = 2, where it is
    (2g)!! <= sqrt((2g+1)!) <= sqrt(n!). There are fewer than n-1 such powers.
    """
    return (n - 1) ** 2 * factorial(n)


@checks("TS.Tab2.frago-ham-startup")
def hamiltonian_startup(check: ClaimCheck) -> None:
    """Check the number of steps of rotated Hamiltonian paths, and its order of growth."""
    forms.check_hamiltonian(check)
    forms.check_quotient(check, "ceil((n!-1)/(n-1)) over (n-1)!")


@checks("TS.Tab2.frago-ham-transmission")
def hamiltonian_transmission(check: ClaimCheck) -> None:
    """Check the number of messages of rotated Hamiltonian paths, and its order of growth."""
    forms.check_hamiltonian(check)
    forms.check_quotient(check, "ceil((n!-1)/(n-1)) over (n!-1)/(n-1)")


@checks("TS.Tab2.frago-ham-overall")
def hamiltonian_time(check: ClaimCheck) -> None:
    """Check the time of rotated Hamiltonian paths."""
    n = check.n
    schedule, simulation = execute(check, "allgather", "rotated-hamiltonian", messages=1)
    observed = exact_time(simulation, schedule.units, SMALL)
    stated = SMALL.time(factorial(n - 1), Fraction(factorial(n) - 1, n - 1))
    check.equal("time", observed, stated, of=schedule, **SMALL.place)
    correction = check.correction()
    correction.equal("time", observed, SMALL.time(even_share(n), even_share(n)), **SMALL.place)
    by_level = check.reading(
        "the tree run level by level, all messages of a link and level in one packet, takes that "
        "time"
    )
    steps, carried = run_by_level(by_level, "rotated-hamiltonian")
    by_level.equal("time", SMALL.time(steps, carried), stated, **SMALL.place)


@checks("TS.Tab2.frago-nl-startup")
def necklace_startup(check: ClaimCheck) -> None:
    """Check the number of steps of the necklace tree, and its order of growth."""
    steps, _ = run_by_level(check, "necklace")
    check.equal("steps", steps, diameter(check.n))
    forms.check_quotient(check, "D_n over n")


@checks("TS.Tab2.frago-nl-transmission")
def necklace_transmission(check: ClaimCheck) -> None:
    """Check that messages per link exceed an even share at most by the size of short necklaces."""
    _, carried = run_by_level(check, "necklace")
    # The bound contains a square root, and `add_sqrt` keeps the sum exact for the comparison.
    bound = add_sqrt(forms.messages_per_link(check.n), short_necklaces_squared(check.n))
    check.at_most("messages a link", carried, np.array(bound, dtype=object))

    def quotient(n: int) -> Number:
        return 1 + divide(sqrt(short_necklaces_squared(n)), forms.messages_per_link(n))

    check.order("(n!-1)/(n-1) + (n-1) sqrt(n!) over (n!-1)/(n-1)", quotient)


@checks("TS.Tab2.frago-nl-overall")
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
    correction = check.correction()
    corrected = SMALL.time(diameter(check.n), int(links.max(axis=1).sum()))
    correction.equal("time", observed, corrected, **SMALL.place)
    correction.true("more than (n!-1)/(n-1)", carried > share)
    segmented = check.reading(
        "each message cut into n-1 segments, one down each of the n-1 trees DC(i, T), as Algorithm "
        "2 sends, it takes that time"
    )
    for schedule, simulation in forms.algorithm2(base="necklace")(segmented):
        observed = exact_time(simulation, schedule.units, SMALL)
        segmented.equal("time", observed, stated, of=schedule, **SMALL.place)


#: Cells about Algorithm 2: port model, and the quotient for a stated order.
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
# The algorithm is only cited, so only its closed form is compared with the stated order.
check_rows(
    forms.check_quotient,
    {f"TS.Tab2.misic-{part}": "n!-1 over n!" for part in ("startup", "transmission")},
)


@checks("TS.Tab2.misic-overall")
def misic_is_only_cited(check: ClaimCheck) -> None:
    """Record that the only closed form of the time of Misic's algorithm is the cell itself."""
    check.absent(
        "[13], Misic's allgather",
        "the algorithm of Misic and Jovanovic [13] is only cited, and the only closed form of its "
        "time is this cell itself",
    )
