"""Checks of Tseng & Sheu 1997, Tables 1 and 2: start-up, transmission and overall times.

A time is a function of n, the start-up time T_s, and the transmission time b = m T_c of a message.
The message has p segments per tree. Numbers in brackets, such as [16], are references of the
paper. `TIMES` and `ORDERS` contain the rows of Table 1, and `OURS` contains one row per claim about
Algorithm 2 in Table 2.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, ceil, divide, factorial, greatest, log2, sqrt
from starcast.claims.registry import (
    Memory,
    check_rows,
    checks,
    execute,
)
from starcast.records import checkers

from ..common.closed_forms import (
    Pipeline,
    Time,
    add_sqrt,
    diameter,
    even_share,
    greatest_quotient,
    multiple_height,
    rational_sqrt,
)
from ..common.star_vs_hypercube import Order
from . import collectives
from .collectives import SMALL

# Closed forms of section 6.1 and of Theorems 1 and 2


def sheu93(n: int) -> Pipeline:
    """Return the pipeline of Sheu et al. [16], which takes the time (2n-4+p)(T_s + b/p).

    Here p is the number of segments, T_s the start-up time, and b the message's transmission time.
    """
    return Pipeline(2 * n - 3)


def day(n: int) -> Pipeline:
    """Return the pipeline of Day [7], which takes the time (D_n-1+p)(T_s + b/p).

    Here D_n is the diameter of the star graph, p the number of segments, T_s the start-up time, and
    b the message's transmission time.
    """
    return Pipeline(diameter(n))


def sheu95(n: int) -> Pipeline:
    """Return the pipeline of Sheu et al. [17], which takes the time (n+p-1) log2 n (T_s + b/p).

    Here p is the number of segments, T_s the start-up time, and b the message's transmission time.
    """
    return Pipeline(n, slot=log2(n))


def theorem1(n: int) -> Pipeline:
    """Return the pipeline of Theorem 1, which takes the time (h+p-1)(T_s + 2b/(p(n-1))).

    Here h is the height that Lemma 5 states, p the number of segments per tree, T_s the start-up
    time, and b the message's transmission time. Equation (3) states the time.
    """
    return Pipeline(multiple_height(n), Fraction(2, n - 1))


def theorem2(n: int) -> Pipeline:
    """Return the pipeline of Theorem 2, which takes n-1 times as long as that of Theorem 1."""
    return Pipeline(multiple_height(n), Fraction(2, n - 1), n - 1)


# `greatest_quotient` caches results by function, so this cache makes equal pipelines share a
# function.
@cache
def with_best_integer(pipeline: Callable[[int], Pipeline]) -> Time:
    """Return a pipeline's minimum time over integer numbers of segments, as a `Time` function."""
    return lambda n, *load: pipeline(n).least_whole(*load)


@cache
def with_best_real(pipeline: Callable[[int], Pipeline]) -> Time:
    """Return a pipeline's minimum time, as a `Time` function.

    The number of segments may be any positive real number.
    """
    return lambda n, *load: pipeline(n).least(*load)


@cache
def unsegmented(pipeline: Callable[[int], Pipeline]) -> Time:
    """Return a pipeline's time for an unsegmented message, as a `Time` function."""
    return lambda n, startup, b: pipeline(n).height * (startup + b)


theorem1_time = with_best_integer(theorem1)
theorem2_time = with_best_integer(theorem2)


#: The order of growth that Theorem 1 states.
THEOREM_1 = Order(
    "n T_s + sqrt(m T_s T_c) + m T_c/n",
    lambda n, startup, b: n * startup + sqrt(startup * b) + divide(b, n),
)
#: The order of growth that Theorem 2 states.
THEOREM_2 = Order(
    "n^2 T_s + n sqrt(m T_s T_c) + m T_c",
    lambda n, startup, b: n * n * startup + n * sqrt(startup * b) + b,
)
#: The stated orders of broadcast times on one tree: pipelined, and without segments.
ONE_TREE = Order(
    "n T_s + sqrt(n m T_s T_c) + m T_c",
    lambda n, startup, b: n * startup + sqrt(n * startup * b) + b,
)
UNSEGMENTED = Order("n T_s + m n T_c", lambda n, startup, b: n * startup + n * b)
LINEAR = Order("n T_s", lambda n, startup, _: n * startup)
SQUARE = Order("n^2 T_s", lambda n, startup, _: n * n * startup)
MESSAGE = Order("m T_c", lambda _n, _startup, b: b)


def lemma1_allport(n: int, T_s: Number, b: Number) -> Number:  # noqa: N803
    """Return max{D_n T_s, b/(n-1)}, the all-port bound of Lemma 1 on the time of broadcasts.

    D_n is the diameter, T_s the start-up time, and b the transmission time of the message.
    """
    return greatest([diameter(n) * T_s, divide(b, n - 1)])


def lemma1_oneport(n: int, T_s: Number, b: Number) -> Number:  # noqa: N803
    """Return max{D_n T_s, ceil(log2 n!) T_s, b}, the one-port bound of Lemma 1 on broadcasts.

    D_n is the diameter, T_s the start-up time, and b the transmission time of the message.
    """
    return greatest([diameter(n) * T_s, ceil(log2(factorial(n))) * T_s, b])


def phases(n: int) -> int:
    """Return the number of phases in Akl's and Mendia's broadcasts, the sum of ceil(log2 i).

    The sum is over i = 2..n.
    """
    # The closed form n c - 2^c + 1, c = ceil(log2 n), uses only integers, so it is exact for huge
    # n.
    power = (n - 1).bit_length()
    return n * power - (1 << power) + 1


def sum_of_phases(n: int) -> int:
    """Return the sum of ceil(log2 i), i = 2..n, computed term by term to check `phases`."""
    return sum((i - 1).bit_length() for i in range(2, n + 1))


def messages_per_link(n: int) -> Number:
    """Return (n!-1)/(n-1), an equal share of n!-1 messages for each of n-1 links."""
    return divide(factorial(n) - 1, n - 1)


#: Quotients of a closed form and the order of growth that the paper states; each key is the
#: quotient as text.
QUOTIENTS: dict[str, Callable[[int], Number]] = {
    "D_n over n": lambda n: divide(diameter(n), n),
    "(n-1) D_n over n^2": lambda n: divide((n - 1) * diameter(n), n * n),
    "n!-1 over n!": lambda n: divide(factorial(n) - 1, factorial(n)),
    "(n-1)!+1 over (n-1)!": lambda n: divide(factorial(n - 1) + 1, factorial(n - 1)),
    "(n!-1)/(n-1) over (n-1)!": lambda n: divide(messages_per_link(n), factorial(n - 1)),
    "(n!-1)/(n-1) over (n!-1)/(n-1)": lambda n: divide(messages_per_link(n), messages_per_link(n)),
    "ceil((n!-1)/(n-1)) over (n-1)!": lambda n: divide(even_share(n), factorial(n - 1)),
    "ceil((n!-1)/(n-1)) over (n!-1)/(n-1)": lambda n: divide(even_share(n), messages_per_link(n)),
}


def check_quotient(check: ClaimCheck, name: str) -> None:
    """Check that the quotient of a closed form and its stated order of growth is bounded.

    The argument ``name`` is the key of the quotient in `QUOTIENTS`.
    """
    check.order(name, QUOTIENTS[name])


def check_time_order(
    check: ClaimCheck,
    what: str,
    time: Time,
    stated: Time,
    applies: Callable[[int, Number, Number], bool] = lambda *_: True,
) -> None:
    """Check that a time has the stated order of growth for the sample pairs (T_s, m T_c).

    The function ``applies`` selects the pairs to which the claim applies (default: all).
    """
    check.order(what, lambda n: greatest_quotient(n, time, stated, applies))


def check_best_segments(check: ClaimCheck, pipeline: Pipeline, square: Fraction) -> None:
    """Check that a stated number of segments minimizes the time of a pipeline.

    For a message of size m, the stated number q is sqrt(``square`` m T_c/T_s). For several m, the
    time for q must be the smallest of the times for q/16, 2q/16, .., 4q. These multiples suffice,
    because the time is convex in the number of segments.
    """
    # The stated numbers are 1/8, which is less than one segment, 1/4, .., 64.
    for power in range(-3, 7):
        best = Fraction(2) ** power
        # With this m, the stated optimum is the rational number `best`, so it can be one of the
        # candidates and be compared exactly.
        m = best * best / square
        candidates = [best * j / 16 for j in range(1, 65)]
        observed = min(candidates, key=partial(pipeline.time, T_s=1, b=m))
        stated = rational_sqrt(square * m) or 0
        check.equal("p of the least time", observed, stated, m=str(m), T_s=1, T_c=1)


PARTS = ("startup", "transmission", "overall")


def check_phases(check: ClaimCheck) -> None:
    """Check the closed form of the sum of ceil(log2 i), i = 2..n.

    Also check that a one-port broadcast takes no more steps than this sum. The paper does not
    describe the cited algorithms, so a broadcast from starcast's records is executed.
    """
    n = check.n
    check.equal("sum of ceil(log2 i), i = 2..n", phases(n), sum_of_phases(n))
    # S_2 is a single link, for which there is no record.
    if n == 2:
        return
    steps = execute(check, "broadcast", "optimal", "one").steps
    check.at_most("phases of a recorded broadcast", steps, phases(n))


BY_PHASES = (
    "(sum of ceil(log2 i), i = 2..n)(T_s + m T_c)",
    lambda n, startup, b: phases(n) * (startup + b),
)
#: Rows of Table 1: the closed form of the time, as text and as a function of n, T_s and b = m T_c.
#: The closed forms are for the number p of segments that minimizes the time.
TIMES: dict[str, tuple[str, Time]] = {
    "sheu93": ("(2n-4+p)(T_s + m T_c/p), best real p", with_best_real(sheu93)),
    "day": ("(D_n-1+p)(T_s + m T_c/p), best real p", with_best_real(day)),
    "ours-allport": ("(h+p-1)(T_s + 2m T_c/(p(n-1))), best whole p", theorem1_time),
    "misic": ("n(n-1)/2 (T_s + m T_c)", lambda n, startup, b: n * (n - 1) // 2 * (startup + b)),
    "akl": BY_PHASES,
    "mendia": BY_PHASES,
    "sheu95": (
        "((p-1) log2 n + n log2 n)(T_s + m T_c/p), best real p",
        with_best_real(sheu95),
    ),
    "ours-oneport": ("(n-1)(h+p-1)(T_s + 2m T_c/(p(n-1))), best whole p", theorem2_time),
}
#: For each row of Table 1, the check that executes its algorithm; other rows are only cited.
EXECUTIONS: dict[str, Callable[[ClaimCheck], None]] = {
    "sheu93": collectives.check_sheu93,
    "day": collectives.check_day,
    "ours-allport": collectives.check_algorithm1,
    "akl": check_phases,
    "mendia": check_phases,
    "ours-oneport": partial(collectives.check_algorithm1, ports="one"),
}
N_LOG_N = Order("n log n T_s", lambda n, startup, _: n * log2(n) * startup)
ORDERS_BY_PHASES = (
    N_LOG_N,
    Order("n m log n T_c", lambda n, _startup, b: n * log2(n) * b),
    Order("n log n (T_s + m T_c)", lambda n, startup, b: n * log2(n) * (startup + b)),
)
#: The stated orders of start-up, transmission and overall time, as functions of n, T_s and
#: b = m T_c, for each row of Table 1.
ORDERS = {
    "sheu93": (LINEAR, MESSAGE, ONE_TREE),
    "day": (LINEAR, MESSAGE, ONE_TREE),
    "ours-allport": (
        LINEAR,
        Order("m T_c/n", lambda n, _startup, b: divide(b, n)),
        THEOREM_1,
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
            lambda n, *load: log2(n) * ONE_TREE.value(n, *load),
        ),
    ),
    "ours-oneport": (
        SQUARE,
        MESSAGE,
        THEOREM_2,
    ),
}
#: For each part of a time, a function that selects pairs of T_s and b = m T_c. The start-up time is
#: the time for b = 0, and the transmission time is the time for T_s = 0. All pairs are selected for
#: the overall time.
IN_PART: dict[str, Callable[[int, Number, Number], bool]] = {
    "startup": lambda _n, _startup, b: not b,
    "transmission": lambda _n, startup, _b: not startup,
    "overall": lambda *_: True,
}


def order_of_part(check: ClaimCheck, cell: tuple[str, str]) -> None:
    """Check that a start-up, transmission or overall time in Table 1 has the stated order.

    The argument ``cell`` is the name of the row and the part of the time, one of `PARTS`.
    """
    row, part = cell
    if row in EXECUTIONS:
        EXECUTIONS[row](check)
    words, time = TIMES[row]
    stated = ORDERS[row][PARTS.index(part)]
    check_time_order(check, f"{words} over {stated.formula}", time, stated.value, IN_PART[part])


for _row in TIMES:
    check_rows(
        order_of_part,
        {f"TS.Tab1.{_row}-{part}": (_row, part) for part in PARTS},
        memory=collectives.ALGORITHM_1 if "ours" in _row else Memory(),
    )


def qiu_is_only_cited(check: ClaimCheck, _part: str) -> None:
    """Record that the papers contain no closed form for the time of Qiu's broadcast."""
    check.absent(
        "[14], Qiu's broadcast",
        "the algorithm of Qiu [14] is only cited, and section 6.1 gives orders but no closed form "
        "of its time",
    )


check_rows(qiu_is_only_cited, {f"TS.Tab1.qiu-{part}": part for part in PARTS})


# Table 2: allgather


def run_by_level(check: ClaimCheck, construction: str) -> tuple[int, Fraction]:
    """Execute `allgather_by_level`; return its steps and the sum of the steps' largest packets.

    Packets are counted in messages.
    """
    simulation = check.execute(collectives.allgather_by_level(check, construction))
    return simulation.steps, Fraction(int(simulation.packet_sizes.sum()))


def short_necklaces_squared(n: int) -> Number:
    """Return the square of an upper bound on the number of nodes in short necklaces.

    The square is (n-1)^2 n!. A necklace is an orbit of the rotation R; it is short if it has fewer
    than n-1 nodes. Each of its nodes then commutes, as a permutation, with a power of R. A power of
    order L >= 2 has g = (n-1)/L cycles and leaves one symbol unchanged, and L^g g! nodes commute
    with the power. The number L^g g! is largest for L = 2, where it is (2g)!! <= sqrt((2g+1)!) <=
    sqrt(n!). There are fewer than n-1 such powers, so fewer than (n-1) sqrt(n!) nodes are in short
    necklaces.
    """
    return (n - 1) ** 2 * factorial(n)


@checks("TS.Tab2.frago-ham-startup")
def hamiltonian_startup(check: ClaimCheck) -> None:
    """Check the number of steps of the allgather on rotated Hamiltonian paths.

    The number must be ceil((n!-1)/(n-1)) and have the stated order of growth.
    """
    collectives.check_hamiltonian(check)
    check_quotient(check, "ceil((n!-1)/(n-1)) over (n-1)!")


@checks("TS.Tab2.frago-ham-transmission")
def hamiltonian_transmission(check: ClaimCheck) -> None:
    """Check the number of messages per link in the allgather on rotated Hamiltonian paths.

    The number must be at most ceil((n!-1)/(n-1)), and have the stated order of growth.
    """
    collectives.check_hamiltonian(check)
    check_quotient(check, "ceil((n!-1)/(n-1)) over (n!-1)/(n-1)")


@checks("TS.Tab2.frago-ham-overall")
def hamiltonian_time(check: ClaimCheck) -> None:
    """Check whether the allgather on rotated Hamiltonian paths takes the stated time.

    The stated time is (n-1)! T_s + (n!-1)/(n-1) m T_c. In fact, T_s and m T_c both have the factor
    ceil((n!-1)/(n-1)).
    """
    n = check.n
    allgather = execute(check, "allgather", "rotated-hamiltonian", messages=1)
    observed = SMALL.time_of(allgather)
    stated = SMALL.time(factorial(n - 1), Fraction(factorial(n) - 1, n - 1))
    check.equal("time", observed, stated, of=allgather.schedule, **SMALL.place)
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
    """Check that the allgather on the necklace tree takes as many steps as the diameter.

    Also check the stated order of growth.
    """
    steps, _ = run_by_level(check, "necklace")
    check.equal("steps", steps, diameter(check.n))
    check_quotient(check, "D_n over n")


@checks("TS.Tab2.frago-nl-transmission")
def necklace_transmission(check: ClaimCheck) -> None:
    """Check the number of messages per link in the allgather on the necklace tree.

    The number must exceed an even share, (n!-1)/(n-1), by at most the square root of
    `short_necklaces_squared`. Also check the stated order of growth.
    """
    _, carried = run_by_level(check, "necklace")
    # The bound contains a square root, and `add_sqrt` keeps the sum exact for the comparison.
    bound = add_sqrt(messages_per_link(check.n), short_necklaces_squared(check.n))
    check.at_most("messages a link", carried, np.array(bound, dtype=object))

    def quotient(n: int) -> Number:
        return 1 + divide(sqrt(short_necklaces_squared(n)), messages_per_link(n))

    check.order("(n!-1)/(n-1) + (n-1) sqrt(n!) over (n!-1)/(n-1)", quotient)


@checks("TS.Tab2.frago-nl-overall")
def necklace_time(check: ClaimCheck) -> None:
    """Check whether the allgather on the necklace tree takes the stated time.

    On a star graph of diameter D_n, the stated time is D_n T_s + (n!-1)/(n-1) m T_c. The tree is
    executed level by level. In fact, the transmission time is longer than stated.
    """
    steps, carried = run_by_level(check, "necklace")
    observed = SMALL.time(steps, carried)
    share = Fraction(factorial(check.n) - 1, check.n - 1)
    stated = SMALL.time(diameter(check.n), share)
    schedule = collectives.allgather_by_level(check, "necklace")
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
    for run in collectives.algorithm2(base="necklace")(segmented):
        segmented.equal("time", SMALL.time_of(run), stated, of=run.schedule, **SMALL.place)


#: Cells of Table 2 about Algorithm 2, by claim id: the port model, and the key in `QUOTIENTS` for
#: the cell's closed form and stated order. The key is None for the overall time.
OURS: dict[str, tuple[str, str | None]] = {
    "TS.Tab2.ours-allport-startup": ("all", "D_n over n"),
    "TS.Tab2.ours-allport-transmission": ("all", "(n!-1)/(n-1) over (n!-1)/(n-1)"),
    "TS.Tab2.ours-allport-overall": ("all", None),
    "TS.Tab2.ours-oneport-startup": ("one", "(n-1) D_n over n^2"),
    "TS.Tab2.ours-oneport-transmission": ("one", "n!-1 over n!"),
    "TS.Tab2.ours-oneport-overall": ("one", None),
}


def time_of_algorithm2(check: ClaimCheck, cell: tuple[str, str | None]) -> None:
    """Check the time of Algorithm 2, an allgather, and an order of growth in Table 2.

    The argument ``cell`` is a value of `OURS`.
    """
    ports, quotient = cell
    collectives.check_theorem3(check, ports)
    if quotient is not None:
        check_quotient(check, quotient)


check_rows(time_of_algorithm2, OURS)
# Misic's algorithm is only cited, so only its closed form is compared with the stated order.
check_rows(
    check_quotient,
    {f"TS.Tab2.misic-{part}": "n!-1 over n!" for part in ("startup", "transmission")},
)


@checks("TS.Tab2.misic-overall")
def misic_is_only_cited(check: ClaimCheck) -> None:
    """Record that the paper only cites Misic's algorithm, and states its time only in this cell."""
    check.absent(
        "[13], Misic's allgather",
        "the algorithm of Misic and Jovanovic [13] is only cited, and the only closed form of its "
        "time is this cell itself",
    )
