"""Tseng & Sheu 1997: what sections 1, 4, 5, 6.1 and 7 call optimal, improved, or of an order."""

from fractions import Fraction

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import Number, divided, factorial, log2, sqrt
from starcast.claims.papers.tseng_sheu.closed_forms import (
    SMALL,
    height,
    held_day,
    held_hamiltonian,
    held_sheu93,
    held_theorem1,
    held_theorem2,
    held_theorem3,
    lemma1_allport,
    lemma1_oneport,
    sheu93,
    sheu95,
    theorem1,
    theorem2,
    weight,
)
from starcast.claims.reference.bfs import diameter as searched_diameter
from starcast.claims.reference.pipelines import Pipeline, exact_time, greatest
from starcast.claims.reference.surds import rational_sqrt
from starcast.claims.registry import check


def _first(n: int, start: Number, b: Number) -> Number:
    """Theorem 1 with the best whole p."""
    return theorem1(n).least_whole(start, b)


def _second(n: int, start: Number, b: Number) -> Number:
    """Theorem 2 with the best whole p."""
    return theorem2(n).least_whole(start, b)


@check("TS.opt.S41", bytes_per_node=weight)
def _optimal_allport(check: ClaimCheck) -> None:
    held_theorem1(check)
    check.order(
        "time of Theorem 1 over the bound of Lemma 1", lambda n: greatest(n, _first, lemma1_allport)
    )


@check("TS.opt.S42-startup", bytes_per_node=weight)
def _optimal_startup(check: ClaimCheck) -> None:
    held_theorem2(check)
    check.order(
        "time of Theorem 2 over n^2 T_s where m T_c <= n^2 T_s",
        lambda n: greatest(
            n, _second, lambda n, start, _: n * n * start, lambda start, b: b <= n * n * start
        ),
    )
    check.order(
        "time of Theorem 2 over n/log n times Lemma 1 where m T_c <= n^2 T_s",
        lambda n: divided(
            greatest(n, _second, lemma1_oneport, lambda start, b: b <= n * n * start) * log2(n), n
        ),
    )


@check("TS.opt.S42-transmission", bytes_per_node=weight)
def _optimal_transmission(check: ClaimCheck) -> None:
    held_theorem2(check)
    check.order(
        "time of Theorem 2 over m T_c where m T_c >= n^2 T_s",
        lambda n: greatest(
            n, _second, lambda _n, _start, b: b, lambda start, b: b >= n * n * start
        ),
    )
    check.order(
        "time of Theorem 2 over Lemma 1 where m T_c >= n^2 T_s",
        lambda n: greatest(n, _second, lemma1_oneport, lambda start, b: b >= n * n * start),
    )


@check("TS.opt.S51", bytes_per_node=weight)
def _optimal_allgather(check: ClaimCheck) -> None:
    n = check.topology.n
    made = check.objects.schedule(
        check.topology.spec, "allgather", "dimension-change", "all", base="greedy"
    )
    took = check.execute(made)
    check.equal("start-ups", took.steps, diameter(n), of=made)
    check.equal(
        "start-ups, and the greatest distance",
        took.steps,
        searched_diameter(check.objects, check.topology.spec),
        of=made,
    )
    check.equal(
        "messages a link",
        Fraction(int(took.packet_sizes.sum()), made.units),
        Fraction(factorial(n) - 1, n - 1),
        of=made,
    )


@check("TS.opt.S52", bytes_per_node=weight)
def _optimal_allgather_oneport(check: ClaimCheck) -> None:
    made = check.objects.schedule(
        check.topology.spec, "allgather", "dimension-change", "one", base="greedy"
    )
    took = check.execute(made)
    check.equal(
        "messages a node",
        Fraction(int(took.packet_sizes.sum()), made.units),
        factorial(check.topology.n) - 1,
        of=made,
    )


@check("TS.concl-allport", bytes_per_node=weight)
def _conclusion(check: ClaimCheck) -> None:
    held_theorem1(check)
    check.order(
        "start-up of Theorem 1 over D_n T_s", lambda n: divided(_first(n, 1, 0), diameter(n))
    )
    check.order("transmission of Theorem 1 over m T_c/(n-1)", lambda n: _first(n, 0, 1) * (n - 1))
    other = check.reading(
        "h + p - 1 with the best real p is of the order of D_n, also for m T_c = n^4 T_s"
    )
    other.order(
        "start-ups over D_n",
        lambda n: divided(theorem1(n).height - 1 + sqrt(theorem1(n).square(1, n**4)), diameter(n)),
    )


@check("TS.intro-transmission", bytes_per_node=weight)
def _less_transmission(check: ClaimCheck) -> None:
    held_sheu93(check)
    held_theorem1(check)
    held_theorem2(check)
    for words, start, power in (("T_s = 0", 0, 0), ("m T_c = n^4 T_s", 1, 4)):
        check.same_order(
            f"[16] over Theorem 1 over n, {words}",
            lambda n, start=start, power=power: divided(
                sheu93(n).least(start, n**power), n * theorem1(n).least(start, n**power)
            ),
        )
        check.same_order(
            f"[17] over Theorem 2 over log n, {words}",
            lambda n, start=start, power=power: divided(
                sheu95(n).least(start, n**power), log2(n) * theorem2(n).least(start, n**power)
            ),
        )


@check("TS.intro-startup", bytes_per_node=weight)
def _less_startup(check: ClaimCheck) -> None:
    held_hamiltonian(check)
    held_theorem3(check, "all")
    held_theorem3(check, "one")
    check.equal(
        "height of the tree of Hamiltonian paths",
        height(check, "rotated-hamiltonian"),
        factorial(check.topology.n - 1) + 1,
    )
    check.same_order(
        "(n-1)!+1 over (n-1)!", lambda n: divided(factorial(n - 1) + 1, factorial(n - 1))
    )
    check.same_order(
        "(n!-1)/(n-1) over (n-1)!",
        lambda n: divided(divided(factorial(n) - 1, n - 1), factorial(n - 1)),
    )
    check.same_order("D_n over n", lambda n: divided(diameter(n), n))
    check.same_order("n!-1 over n!", lambda n: divided(factorial(n) - 1, factorial(n)))
    check.same_order("(n-1) D_n over n^2", lambda n: divided((n - 1) * diameter(n), n * n))


@check("TS.S61-nopipe", bytes_per_node=weight)
def _whole(check: ClaimCheck) -> None:
    n = check.topology.n
    for algorithm, cut, high in (
        ("recursive-substar", "messages", 2 * n - 3),
        ("greedy", "segments", diameter(n)),
    ):
        check.equal(f"height of {algorithm}", height(check, algorithm), high)
        made = check.objects.schedule(
            check.topology.spec, "broadcast", algorithm, "all", **{cut: 1}
        )
        found = exact_time(check.execute(made), made.units, SMALL)
        check.equal(
            f"time of {algorithm}",
            found,
            high * (SMALL.T_s + SMALL.m * SMALL.T_c),
            of=made,
            **SMALL.place,
        )
    for words, tree in (("2n-3", sheu93), ("D_n", lambda n: Pipeline(diameter(n)))):
        check.order(
            f"({words})(T_s + m T_c) over n T_s + m n T_c",
            lambda n, tree=tree: greatest(
                n,
                lambda n, start, b: tree(n).height * (start + b),
                lambda n, start, b: n * start + n * b,
            ),
        )


@check("TS.S61-pipe", bytes_per_node=weight)
def _pipelined(check: ClaimCheck) -> None:
    held_sheu93(check)
    held_day(check)
    for words, tree in (("2n-3", sheu93), ("D_n", lambda n: Pipeline(diameter(n)))):
        check.order(
            f"time with h' = {words} over n T_s + sqrt(n m T_s T_c) + m T_c",
            lambda n, tree=tree: greatest(
                n,
                lambda n, *load: tree(n).least_whole(*load),
                lambda n, start, b: n * start + sqrt(n * start * b) + b,
            ),
        )


@check("TS.S61-phases")
def _phases(check: ClaimCheck) -> None:
    n = check.topology.n
    check.equal(
        "the sum, term by term", sum((i - 1).bit_length() for i in range(2, n + 1)), phases(n)
    )
    check.order("the sum over n log n", lambda n: divided(phases(n), n * log2(n)))


def phases(n: int) -> int:
    """The sum of ceil(log2 i) for i = 2..n."""
    power = (n - 1).bit_length()
    return n * power - (1 << power) + 1


@check("TS.S61-sheu95")
def _best_sheu95(check: ClaimCheck) -> None:
    n = check.topology.n
    for wanted in (Fraction(2) ** power for power in range(-3, 7)):
        m = wanted * wanted / (n - 1)
        tried = [wanted * j / 16 for j in range(1, 65)]
        times = [((p - 1) + n) * (1 + m / p) for p in tried]
        found = tried[times.index(min(times))]
        check.equal(
            "p of the least time", found, rational_sqrt((n - 1) * m) or 0, m=str(m), T_s=1, T_c=1
        )
    check.same_order("the best p over sqrt(n m T_c/T_s)", lambda n: sqrt(divided(n - 1, n)))
