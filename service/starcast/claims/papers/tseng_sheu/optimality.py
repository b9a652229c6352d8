"""Tseng & Sheu 1997: optimality, improvements and orders in sections 1, 4, 5, 6.1 and 7."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import Number, divided, factorial, log2, sqrt
from starcast.claims.papers.tseng_sheu import closed_forms as forms
from starcast.claims.providers import Execution
from starcast.claims.reference import bfs
from starcast.claims.reference.pipelines import Pipeline, carried_share, greatest
from starcast.claims.reference.surds import rational_sqrt
from starcast.claims.registry import check


def is_short(n: int, startup: Number, b: Number) -> bool:
    """Return whether m T_c <= n^2 T_s."""
    return bool(b <= n * n * startup)


def is_long(n: int, startup: Number, b: Number) -> bool:
    """Return whether m T_c >= n^2 T_s."""
    return bool(b >= n * n * startup)


@check("TS.opt.S41", bytes_per_node=forms.multiple_bytes)
def allport_broadcast_is_optimal(check: ClaimCheck) -> None:
    """Check that Theorem 1 is within a constant of Lemma 1."""
    forms.check_algorithm1(check)
    what = "time of Theorem 1 over the bound of Lemma 1"
    forms.check_time_order(check, what, forms.theorem1_time, forms.lemma1_allport)


@check("TS.opt.S42-startup", bytes_per_node=forms.multiple_bytes)
def startup_of_short_messages(check: ClaimCheck) -> None:
    """Check that Theorem 2 is O(n^2 T_s) for short messages, and O(n/log n) above Lemma 1."""
    forms.check_algorithm1(check, "one")
    what = "time of Theorem 2 over n^2 T_s where m T_c <= n^2 T_s"
    time = forms.theorem2_time
    forms.check_time_order(check, what, time, lambda n, start, _: n * n * start, is_short)

    def quotient(n: int) -> Number:
        over_lemma1 = greatest(n, time, forms.lemma1_oneport, partial(is_short, n))
        return divided(over_lemma1 * log2(n), n)

    check.order("time of Theorem 2 over n/log n times Lemma 1 where m T_c <= n^2 T_s", quotient)


@check("TS.opt.S42-transmission", bytes_per_node=forms.multiple_bytes)
def transmission_of_long_messages(check: ClaimCheck) -> None:
    """Check that Theorem 2 is O(m T_c) for long messages, and within a constant of Lemma 1."""
    forms.check_algorithm1(check, "one")
    what = "time of Theorem 2 over m T_c where m T_c >= n^2 T_s"
    forms.check_time_order(check, what, forms.theorem2_time, lambda _n, _startup, b: b, is_long)
    what = "time of Theorem 2 over Lemma 1 where m T_c >= n^2 T_s"
    forms.check_time_order(check, what, forms.theorem2_time, forms.lemma1_oneport, is_long)


@check("TS.opt.S51", given=forms.algorithm2(), bytes_per_node=forms.multiple_bytes)
def allport_allgather_is_optimal(check: ClaimCheck, allgather: Execution) -> None:
    """Check that start-ups and messages of Theorem 3 equal their terms in Lemma 2."""
    n = check.n
    simulation = allgather.simulation
    schedule = allgather.schedule
    check.equal("start-ups", simulation.steps, diameter(n), of=schedule)
    distance = bfs.diameter(check)
    check.equal("start-ups, and the greatest distance", simulation.steps, distance, of=schedule)
    carried = carried_share(simulation, schedule.units)
    check.equal("messages a link", carried, Fraction(factorial(n) - 1, n - 1), of=schedule)


@check("TS.opt.S52", given=forms.algorithm2("one"), bytes_per_node=forms.multiple_bytes)
def oneport_allgather_is_optimal(check: ClaimCheck, allgather: Execution) -> None:
    """Check that the messages of the one-port Algorithm 2 equal their term in Lemma 2."""
    schedule = allgather.schedule
    carried = carried_share(allgather.simulation, schedule.units)
    check.equal("messages a node", carried, factorial(check.n) - 1, of=schedule)


@check("TS.concl-allport", bytes_per_node=forms.multiple_bytes)
def allport_terms(check: ClaimCheck) -> None:
    """Check start-up and transmission of Theorem 1 against their terms in Lemma 1."""
    forms.check_algorithm1(check)
    time = forms.theorem1_time
    check.order("start-up of Theorem 1 over D_n T_s", lambda n: divided(time(n, 1, 0), diameter(n)))
    check.order("transmission of Theorem 1 over m T_c/(n-1)", lambda n: time(n, 0, 1) * (n - 1))
    startups = check.reading(
        "h + p - 1 with the best real p is of the order of D_n, also for m T_c = n^4 T_s"
    )

    def quotient(n: int) -> Number:
        pipeline = forms.theorem1(n)
        return divided(pipeline.height - 1 + sqrt(pipeline.square(1, n**4)), diameter(n))

    startups.order("start-ups over D_n", quotient)


@check("TS.intro-transmission", bytes_per_node=forms.multiple_bytes)
def transmission_improves(check: ClaimCheck) -> None:
    """Check the orders of [16] over Theorem 1 and of [17] over Theorem 2."""
    forms.check_sheu93(check)
    forms.check_algorithm1(check)
    forms.check_algorithm1(check, "one")
    for words, startup, power in (("T_s = 0", 0, 0), ("m T_c = n^4 T_s", 1, 4)):

        def sheu93_quotient(n: int, startup: int = startup, power: int = power) -> Number:
            load = (startup, n**power)
            return divided(forms.sheu93(n).least(*load), n * forms.theorem1(n).least(*load))

        def sheu95_quotient(n: int, startup: int = startup, power: int = power) -> Number:
            load = (startup, n**power)
            return divided(forms.sheu95(n).least(*load), log2(n) * forms.theorem2(n).least(*load))

        check.same_order(f"[16] over Theorem 1 over n, {words}", sheu93_quotient)
        check.same_order(f"[17] over Theorem 2 over log n, {words}", sheu95_quotient)


@check("TS.intro-startup", bytes_per_node=forms.multiple_bytes)
def startup_improves(check: ClaimCheck) -> None:
    """Check the orders of the start-ups of four allgather algorithms."""
    forms.check_hamiltonian(check)
    forms.check_theorem3(check)
    forms.check_theorem3(check, "one")
    measured = forms.height(check, "rotated-hamiltonian")
    check.equal("height of the tree of Hamiltonian paths", measured, factorial(check.n - 1) + 1)
    for words in (
        "(n-1)!+1 over (n-1)!",
        "(n!-1)/(n-1) over (n-1)!",
        "D_n over n",
        "n!-1 over n!",
        "(n-1) D_n over n^2",
    ):
        check.same_order(words, forms.QUOTIENTS[words])


#: The trees of section 6.1: the formula of the height, and the pipeline.
SINGLE_TREES = {"2n-3": forms.sheu93, "D_n": forms.day}


@check("TS.S61-nopipe", bytes_per_node=forms.multiple_bytes)
def time_without_pipelining(check: ClaimCheck) -> None:
    """Check the time h'(T_s + m T_c) of a message that is not segmented, and its order."""
    forms.check_sheu93(check, segments=(1,))
    forms.check_day(check, segments=(1,))
    for formula, pipeline in SINGLE_TREES.items():
        time = partial(_unsegmented_time, pipeline)
        what = f"({formula})(T_s + m T_c) over n T_s + m n T_c"
        forms.check_time_order(check, what, time, lambda n, startup, b: n * startup + n * b)


def _unsegmented_time(
    pipeline: Callable[[int], Pipeline], n: int, startup: Number, b: Number
) -> Number:
    return pipeline(n).height * (startup + b)


@check("TS.S61-pipe", bytes_per_node=forms.multiple_bytes)
def time_with_pipelining(check: ClaimCheck) -> None:
    """Check the time (h'+p-1)(T_s + m T_c/p), and its order for the best integer p."""
    forms.check_sheu93(check)
    forms.check_day(check)
    for formula, pipeline in SINGLE_TREES.items():
        what = f"time with h' = {formula} over n T_s + sqrt(n m T_s T_c) + m T_c"
        forms.check_time_order(check, what, forms.with_best_integer(pipeline), forms.one_tree_order)


@check("TS.S61-phases")
def sum_of_phases_order(check: ClaimCheck) -> None:
    """Check the closed form of the sum of ceil(log2 i), and its order."""
    check.equal("the sum, term by term", forms.sum_of_phases(check.n), forms.phases(check.n))
    check.order("the sum over n log n", lambda n: divided(forms.phases(n), n * log2(n)))


@check("TS.S61-sheu95")
def best_segments_of_sheu95(check: ClaimCheck) -> None:
    """Check the best real p of [17] among 64 fractions, for several m, and its order."""
    for power in range(-3, 7):
        best = Fraction(2) ** power
        m = best * best / (check.n - 1)
        candidates = [best * j / 16 for j in range(1, 65)]
        observed = min(candidates, key=partial(Pipeline(check.n).time, T_s=1, b=m))
        stated = rational_sqrt((check.n - 1) * m) or 0
        check.equal("p of the least time", observed, stated, m=str(m), T_s=1, T_c=1)
    check.same_order("the best p over sqrt(n m T_c/T_s)", lambda n: sqrt(divided(n - 1, n)))
