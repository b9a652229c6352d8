"""Tseng & Sheu 1997: times in closed form, and the executions that confirm them.

A time is a function of n, the time T_s of a start-up, and the transmission time b = m T_c of a
message, which has p segments per tree. Numbers in brackets, such as [16], are references of
the paper.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any

from starcast.claims import growth
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import (
    Number,
    diameter,
    divide,
    even_share,
    factorial,
    log2,
    multiple_height,
    sqrt,
)
from starcast.claims.reference import bfs, pipelines
from starcast.claims.reference.pipelines import rational_sqrt
from starcast.claims.registry import Execution, Memory, Provider, execute, executions
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div

#: Maximum number of segments per tree in executions; all smaller numbers are executed too.
MAX_SEGMENTS = 4
SEGMENTS = tuple(range(1, MAX_SEGMENTS + 1))
SMALL = pipelines.parameters()
#: Memory of Algorithm 1 with all SEGMENTS, in both port models.
ALGORITHM_1 = Memory(80 * MAX_SEGMENTS * (MAX_SEGMENTS + 1))


# Closed forms of section 6.1 and of Theorems 1 and 2


def sheu93(n: int) -> pipelines.Pipeline:
    """Return the pipeline of [16], with the time (2n-4+p)(T_s + b/p)."""
    return pipelines.Pipeline(2 * n - 3)


def day(n: int) -> pipelines.Pipeline:
    """Return the pipeline of [7], with the time (D_n-1+p)(T_s + b/p) for the diameter D_n."""
    return pipelines.Pipeline(diameter(n))


def sheu95(n: int) -> pipelines.Pipeline:
    """Return the pipeline of [17], with the time ((p-1) log2 n + n log2 n)(T_s + b/p)."""
    return pipelines.Pipeline(n, slot=log2(n))


def theorem1(n: int) -> pipelines.Pipeline:
    """Return the pipeline of formula (3), with the time (h+p-1)(T_s + 2b/(p(n-1))).

    The height h is that of Lemma 5.
    """
    return pipelines.Pipeline(multiple_height(n), Fraction(2, n - 1))


def theorem2(n: int) -> pipelines.Pipeline:
    """Return the pipeline of Theorem 2, with n-1 times the time of formula (3)."""
    return pipelines.Pipeline(multiple_height(n), Fraction(2, n - 1), n - 1)


# Cached, so that equal pipelines share one function: `pipelines.greatest` caches its results by
# function.
@cache
def with_best_integer(pipeline: Callable[[int], pipelines.Pipeline]) -> pipelines.Time:
    """Return the function that gives a pipeline's time with the best integer p."""
    return lambda n, *load: pipeline(n).least_whole(*load)


@cache
def with_best_real(pipeline: Callable[[int], pipelines.Pipeline]) -> pipelines.Time:
    """Return the function that gives a pipeline's time with the best real p."""
    return lambda n, *load: pipeline(n).least(*load)


@cache
def unsegmented(pipeline: Callable[[int], pipelines.Pipeline]) -> pipelines.Time:
    """Return the function that gives a pipeline's time for an unsegmented message."""
    return lambda n, startup, b: pipeline(n).height * (startup + b)


theorem1_time = with_best_integer(theorem1)
theorem2_time = with_best_integer(theorem2)


def theorem1_order(n: int, T_s: Number, b: Number) -> Number:  # noqa: N803
    """Return the stated order of Theorem 1, n T_s + sqrt(b T_s) + b/n."""
    return n * T_s + sqrt(T_s * b) + divide(b, n)


def theorem2_order(n: int, T_s: Number, b: Number) -> Number:  # noqa: N803
    """Return the stated order of Theorem 2, n^2 T_s + n sqrt(b T_s) + b."""
    return n * n * T_s + n * sqrt(T_s * b) + b


def one_tree_order(n: int, T_s: Number, b: Number) -> Number:  # noqa: N803
    """Return the stated order of pipelines on one tree, n T_s + sqrt(n b T_s) + b."""
    return n * T_s + sqrt(n * T_s * b) + b


def lemma1_allport(n: int, T_s: Number, b: Number) -> Number:  # noqa: N803
    """Return the all-port bound of Lemma 1, max{D_n T_s, b/(n-1)}."""
    return growth.greatest([diameter(n) * T_s, divide(b, n - 1)])


def lemma1_oneport(n: int, T_s: Number, b: Number) -> Number:  # noqa: N803
    """Return the one-port bound of Lemma 1, max{D_n T_s, ceil(log2 n!) T_s, b}."""
    return growth.greatest([diameter(n) * T_s, growth.ceil(log2(factorial(n))) * T_s, b])


def square_order(n: int, T_s: Number, _b: Number) -> Number:  # noqa: N803
    """Return the order n^2 T_s."""
    return n * n * T_s


def message_order(_n: int, _startup: Number, b: Number) -> Number:
    """Return the order b = m T_c."""
    return b


def unsegmented_order(n: int, T_s: Number, b: Number) -> Number:  # noqa: N803
    """Return the stated order of an unsegmented message, n T_s + n b."""
    return n * T_s + n * b


def phases(n: int) -> int:
    """Return the phases of the broadcasts [2] and [12], the sum of ceil(log2 i) for i = 2..n."""
    # The closed form n c - 2^c + 1, c = ceil(log2 n), uses only integers, so it is exact for huge
    # n.
    power = (n - 1).bit_length()
    return n * power - (1 << power) + 1


def sum_of_phases(n: int) -> int:
    """Return the sum of ceil(log2 i) for i = 2..n, added term by term."""
    return sum((i - 1).bit_length() for i in range(2, n + 1))


def messages_per_link(n: int) -> Number:
    """Return (n!-1)/(n-1), an equal share of n!-1 messages for each of n-1 links."""
    return divide(factorial(n) - 1, n - 1)


#: Quotients of closed forms and the orders that the paper states for them.
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


def check_quotient(check: ClaimCheck, words: str) -> None:
    """Check that one of the `QUOTIENTS` is bounded."""
    check.order(words, QUOTIENTS[words])


def check_time_order(
    check: ClaimCheck,
    what: str,
    time: pipelines.Time,
    stated: pipelines.Time,
    applies: Callable[[int, Number, Number], bool] = lambda *_: True,
) -> None:
    """Check that a time has a stated order of growth, for all loads to which the claim applies."""
    check.order(what, lambda n: pipelines.greatest(n, time, stated, applies))


def check_best_segments(check: ClaimCheck, pipeline: pipelines.Pipeline, square: Fraction) -> None:
    """Check that sqrt(square m T_c/T_s) is the best p among 64 fractions, for several m."""
    for power in range(-3, 7):
        best = Fraction(2) ** power
        # With this m, the stated optimum is the rational number `best`, so it can be one of the
        # candidates and be compared exactly.
        m = best * best / square
        candidates = [best * j / 16 for j in range(1, 65)]
        observed = min(candidates, key=partial(pipeline.time, T_s=1, b=m))
        stated = rational_sqrt(square * m) or 0
        check.equal("p of the least time", observed, stated, m=str(m), T_s=1, T_c=1)


# Executions


def height(check: ClaimCheck, construction: str) -> int:
    """Return the largest height of the trees of a catalogue construction."""
    return max(bfs.heights(check.forest(construction)))


def algorithm1(ports: str = "all") -> Provider[Execution]:
    """Return a provider of executions of Algorithm 1; section 4.2 describes the one-port form."""
    return executions("broadcast", "multiple", ports=ports, segments=SEGMENTS)


def algorithm2(ports: str = "all", base: str = "greedy") -> Provider[Execution]:
    """Return a provider of executions of Algorithm 2; section 5.2 describes the one-port form."""
    return executions("allgather", "dimension-change", ports=ports, base=base)


def check_algorithm1(check: ClaimCheck, ports: str = "all") -> None:
    """Check that Algorithm 1 takes h+p-1 slots, and that at most two segments share a link.

    The height h is that of Lemma 5, and p is the number of segments per tree. In the one-port
    model, a slot has n-1 sub-slots, and the execution ends in the last slot.
    """
    for execution in algorithm1(ports)(check):
        p = execution.argument("segments")
        place = {"p": p, "of": execution.schedule}
        stated = multiple_height(check.n) + p - 1
        if ports == "all":
            check.equal("slots of Algorithm 1", execution.steps, stated, **place)
        else:
            # Sub-slots after the last packet of the last slot are not executed.
            slots = ceil_div(execution.steps, check.n - 1)
            check.equal("slots of n-1 sub-slots", slots, stated, **place)
        is_enough = execution.simulation.largest_packet <= 2
        check.true("a packet of two segments is large enough", is_enough, **place)


def check_single_tree(
    check: ClaimCheck, algorithm: str, split: str, stated: int, segments: tuple[int, ...] = SEGMENTS
) -> None:
    """Check the height h' of a tree, and the all-port time (h'+p-1)(T_s + m T_c/p) of p packets.

    The argument ``split`` names the algorithm's parameter for p, and ``stated`` is h'.
    """
    check.equal(f"height of {algorithm}", height(check, algorithm), stated)
    split_argument: dict[str, Any] = {split: segments}
    for execution in executions("broadcast", algorithm, **split_argument)(check):
        schedule = execution.schedule
        p = execution.argument(split)
        observed = pipelines.exact_time(execution.simulation, schedule.units, SMALL)
        slot = SMALL.time(1, Fraction(1, p))
        # Without pipelining p is always 1, so p is not recorded.
        place: dict[str, Any] = {"p": p} if len(segments) > 1 else {}
        place |= {"of": schedule, **SMALL.place}
        check.equal(f"time of {algorithm}", observed, (stated + p - 1) * slot, **place)


def check_sheu93(check: ClaimCheck, segments: tuple[int, ...] = SEGMENTS) -> None:
    """Check the broadcast of [16] on the tree of Sheu, Liaw & Chen 1993."""
    check_single_tree(check, "recursive-substar", "messages", 2 * check.n - 3, segments)


def check_day(check: ClaimCheck, segments: tuple[int, ...] = SEGMENTS) -> None:
    """Check the broadcast of [7] on a greedy tree."""
    check_single_tree(check, "greedy", "segments", diameter(check.n), segments)


def check_hamiltonian(check: ClaimCheck) -> None:
    """Check that the allgather on rotated Hamiltonian paths takes ceil((n!-1)/(n-1)) steps.

    A link carries at most one message in a step.
    """
    stated = even_share(check.n)
    schedule, simulation = execute(check, "allgather", "rotated-hamiltonian", messages=1)
    check.equal("steps of rotated Hamiltonian paths", simulation.steps, stated, of=schedule)
    check.equal("messages in a packet", simulation.largest_packet, 1, of=schedule)


def check_theorem3(check: ClaimCheck, ports: str = "all") -> None:
    """Check that Algorithm 2 on the greedy tree takes D_n T_s + (n!-1)/(n-1) m T_c.

    D_n is the diameter. The one-port time is n-1 times as long.
    """
    n = check.n
    steps_per_slot = 1 if ports == "all" else n - 1
    carried = Fraction((factorial(n) - 1) * steps_per_slot, n - 1)
    stated = SMALL.time(diameter(n) * steps_per_slot, carried)
    for schedule, simulation in algorithm2(ports)(check):
        observed = pipelines.exact_time(simulation, schedule.units, SMALL)
        what = f"time of Algorithm 2, {ports}-port"
        check.equal(what, observed, stated, of=schedule, **SMALL.place)


def allgather_by_level(check: ClaimCheck, construction: str) -> Schedule:
    """Return the allgather down all translates of one tree; step t uses the links on level t.

    The messages are not segmented; all messages of a link and level form one packet.
    """
    create = partial(
        pipelines.allgather_by_levels, check.forest(construction), f"{construction} by levels"
    )
    return check.build(create, "by level", construction)
