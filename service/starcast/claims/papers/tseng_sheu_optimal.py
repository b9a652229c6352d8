"""Tseng & Sheu 1997: what sections 1, 4, 5, 6.1 and 7 call optimal, improved, or of an order."""

from fractions import Fraction

from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import diameter
from starcast.claims.growth import Number, divided, factorial, log2, sqrt
from starcast.claims.instruments.pipelines import Pipeline, exact_time, greatest
from starcast.claims.instruments.searching import diameter as searched_diameter
from starcast.claims.instruments.surds import root
from starcast.claims.instruments.tseng_sheu_shared import (
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
from starcast.claims.see import See

FAMILY = Family("tseng_sheu_optimal")
claim = FAMILY.claim


def _first(n: int, start: Number, b: Number) -> Number:
    """Theorem 1 with the best whole p."""
    return theorem1(n).least_whole(start, b)


def _second(n: int, start: Number, b: Number) -> Number:
    """Theorem 2 with the best whole p."""
    return theorem2(n).least_whole(start, b)


@claim(
    "TS.opt.S41",
    "Section 4.1, optimality",
    stars(6, 7, 8),
    "min over whole p of (3) <= c max{D_n T_s, m T_c/(n-1)}, for all m, T_s, T_c; the slots are executed with p = 1..4.",
    weight=weight,
)
def _optimal_allport(see: See) -> None:
    held_theorem1(see)
    see.order(
        "time of Theorem 1 over the bound of Lemma 1", lambda n: greatest(n, _first, lemma1_allport)
    )


@claim(
    "TS.opt.S42-startup",
    "Section 4.2, optimality for short messages",
    stars(6, 7, 8),
    "For m T_c <= n^2 T_s: min over whole p of n-1 times (3) <= c n^2 T_s, and <= c n/log n times the bound of Lemma 1, "
    "one-port.",
    reading="n^2 T_s >> m T_c is looked at as m T_c <= n^2 T_s, which takes in more",
    weight=weight,
)
def _optimal_startup(see: See) -> None:
    held_theorem2(see)
    see.order(
        "time of Theorem 2 over n^2 T_s where m T_c <= n^2 T_s",
        lambda n: greatest(
            n, _second, lambda n, start, _: n * n * start, lambda start, b: b <= n * n * start
        ),
    )
    see.order(
        "time of Theorem 2 over n/log n times Lemma 1 where m T_c <= n^2 T_s",
        lambda n: divided(
            greatest(n, _second, lemma1_oneport, lambda start, b: b <= n * n * start) * log2(n), n
        ),
    )


@claim(
    "TS.opt.S42-transmission",
    "Section 4.2, optimality for long messages",
    stars(6, 7, 8),
    "For m T_c >= n^2 T_s: min over whole p of n-1 times (3) <= c m T_c, and <= c times the bound of Lemma 1, one-port.",
    reading="n^2 T_s << m T_c is looked at as m T_c >= n^2 T_s, which takes in more",
    weight=weight,
)
def _optimal_transmission(see: See) -> None:
    held_theorem2(see)
    see.order(
        "time of Theorem 2 over m T_c where m T_c >= n^2 T_s",
        lambda n: greatest(
            n, _second, lambda _n, _start, b: b, lambda start, b: b >= n * n * start
        ),
    )
    see.order(
        "time of Theorem 2 over Lemma 1 where m T_c >= n^2 T_s",
        lambda n: greatest(n, _second, lemma1_oneport, lambda start, b: b >= n * n * start),
    )


@claim(
    "TS.opt.S51",
    "Section 5.1, optimality",
    stars(7, 8, 8),
    "Algorithm 2 on L(I), all-port, executed: D_n steps, and packets of (n!-1)m/(n-1) bytes in all: the two terms of Lemma 2.",
    weight=weight,
)
def _optimal_allgather(see: See) -> None:
    n = see.where.n
    made = see.lab.schedule(see.where.spec, "allgather", "dimension-change", "all", base="greedy")
    took = see.executed(made)
    see.equal("start-ups", took.steps, diameter(n), of=made)
    see.equal(
        "start-ups, and the greatest distance",
        took.steps,
        searched_diameter(see.lab, see.where.spec),
        of=made,
    )
    see.equal(
        "messages a link",
        Fraction(int(took.packet_sizes.sum()), made.units),
        Fraction(factorial(n) - 1, n - 1),
        of=made,
    )


@claim(
    "TS.opt.S52",
    "Section 5.2, optimality",
    stars(7, 8, 8),
    "Algorithm 2 on L(I), simulated one-port, executed: packets of (n!-1)m bytes in all: the term of Lemma 2 in T_c.",
    weight=weight,
)
def _optimal_allgather_oneport(see: See) -> None:
    made = see.lab.schedule(see.where.spec, "allgather", "dimension-change", "one", base="greedy")
    took = see.executed(made)
    see.equal(
        "messages a node",
        Fraction(int(took.packet_sizes.sum()), made.units),
        factorial(see.where.n) - 1,
        of=made,
    )


@claim(
    "TS.concl-allport",
    "Section 7",
    stars(6, 7, 8),
    "min over whole p of (3) is <= c D_n T_s for T_c = 0, and <= c m T_c/(n-1) for T_s = 0.",
    reading="start-up and transmission as in the head of Table 1: the parts with T_s alone and with T_c alone; the "
    "start-ups at the p "
    "that is best for both are the other reading",
    weight=weight,
)
def _conclusion(see: See) -> None:
    held_theorem1(see)
    see.order("start-up of Theorem 1 over D_n T_s", lambda n: divided(_first(n, 1, 0), diameter(n)))
    see.order("transmission of Theorem 1 over m T_c/(n-1)", lambda n: _first(n, 0, 1) * (n - 1))
    other = see.reading(
        "h + p - 1 with the best real p is of the order of D_n, also for m T_c = n^4 T_s"
    )
    other.order(
        "start-ups over D_n",
        lambda n: divided(theorem1(n).height - 1 + sqrt(theorem1(n).square(1, n**4)), diameter(n)),
    )


@claim(
    "TS.intro-transmission",
    "Section 1, transmission",
    stars(6, 7, 8),
    "Transmission (T_s = 0, many segments): (2n-4+p)(m T_c/p) over (3) is of order n, ((p-1) log2 n + n log2 n)(m T_c/p) "
    "over n-1 times (3) "
    "of order log n; so is the whole time at the best p for m T_c = n^4 T_s.",
    reading="improves by a factor of order x: the quotient is of order x, not only O(x)",
    weight=weight,
)
def _less_transmission(see: See) -> None:
    held_sheu93(see)
    held_theorem1(see)
    held_theorem2(see)
    for words, start, power in (("T_s = 0", 0, 0), ("m T_c = n^4 T_s", 1, 4)):
        see.same_order(
            f"[16] over Theorem 1 over n, {words}",
            lambda n, start=start, power=power: divided(
                sheu93(n).least(start, n**power), n * theorem1(n).least(start, n**power)
            ),
        )
        see.same_order(
            f"[17] over Theorem 2 over log n, {words}",
            lambda n, start=start, power=power: divided(
                sheu95(n).least(start, n**power), log2(n) * theorem2(n).least(start, n**power)
            ),
        )


@claim(
    "TS.intro-startup",
    "Section 1, start-up",
    stars(6, 7, 8),
    "Start-ups of an allgather: ceil((n!-1)/(n-1)) and height (n-1)!+1 for `rotated-hamiltonian`, both of order (n-1)!; "
    "D_n, of order n; "
    "n!-1 (Misic), of order n!; (n-1) D_n, of order n^2. All but Misic's are executed.",
    reading="[8] is run as its authors do, a start-up a step, or level by level: both are of order (n-1)!",
    weight=weight,
)
def _less_startup(see: See) -> None:
    held_hamiltonian(see)
    held_theorem3(see, "all")
    held_theorem3(see, "one")
    see.equal(
        "height of the tree of Hamiltonian paths",
        height(see, "rotated-hamiltonian"),
        factorial(see.where.n - 1) + 1,
    )
    see.same_order(
        "(n-1)!+1 over (n-1)!", lambda n: divided(factorial(n - 1) + 1, factorial(n - 1))
    )
    see.same_order(
        "(n!-1)/(n-1) over (n-1)!",
        lambda n: divided(divided(factorial(n) - 1, n - 1), factorial(n - 1)),
    )
    see.same_order("D_n over n", lambda n: divided(diameter(n), n))
    see.same_order("n!-1 over n!", lambda n: divided(factorial(n) - 1, factorial(n)))
    see.same_order("(n-1) D_n over n^2", lambda n: divided((n - 1) * diameter(n), n * n))


@claim(
    "TS.S61-nopipe",
    "Section 6.1, without pipelining",
    stars(6, 7, 8),
    "`recursive-substar` (h' = 2n-3) and `greedy` (h' = D_n), all-port, one packet: h'(T_s + m T_c) <= c (n T_s + m n "
    "T_c). Executed.",
    weight=weight,
)
def _whole(see: See) -> None:
    n = see.where.n
    for algorithm, cut, high in (
        ("recursive-substar", "messages", 2 * n - 3),
        ("greedy", "segments", diameter(n)),
    ):
        see.equal(f"height of {algorithm}", height(see, algorithm), high)
        made = see.lab.schedule(see.where.spec, "broadcast", algorithm, "all", **{cut: 1})
        found = exact_time(see.executed(made), made.units, SMALL)
        see.equal(
            f"time of {algorithm}",
            found,
            high * (SMALL.T_s + SMALL.m * SMALL.T_c),
            of=made,
            **SMALL.place,
        )
    for words, tree in (("2n-3", sheu93), ("D_n", lambda n: Pipeline(diameter(n)))):
        see.order(
            f"({words})(T_s + m T_c) over n T_s + m n T_c",
            lambda n, tree=tree: greatest(
                n,
                lambda n, start, b: tree(n).height * (start + b),
                lambda n, start, b: n * start + n * b,
            ),
        )


@claim(
    "TS.S61-pipe",
    "Section 6.1, pipelined",
    stars(6, 7, 8),
    "`recursive-substar` (h' = 2n-3) and `greedy` (h' = D_n), all-port, p packets: (h'+p-1)(T_s + m T_c/p), executed with "
    "p = 1..4; for the "
    "best whole p <= c (n T_s + sqrt(n m T_s T_c) + m T_c).",
    weight=weight,
)
def _pipelined(see: See) -> None:
    held_sheu93(see)
    held_day(see)
    for words, tree in (("2n-3", sheu93), ("D_n", lambda n: Pipeline(diameter(n)))):
        see.order(
            f"time with h' = {words} over n T_s + sqrt(n m T_s T_c) + m T_c",
            lambda n, tree=tree: greatest(
                n,
                lambda n, *load: tree(n).least_whole(*load),
                lambda n, start, b: n * start + sqrt(n * start * b) + b,
            ),
        )


@claim(
    "TS.S61-phases",
    "Section 6.1, phases",
    stars(),
    "S_n = sum of ceil(log2 i), i = 2..n, is nk - 2^k + 1, k = ceil(log2 n), <= c n log n.",
)
def _phases(see: See) -> None:
    n = see.where.n
    see.equal(
        "the sum, term by term", sum((i - 1).bit_length() for i in range(2, n + 1)), phases(n)
    )
    see.order("the sum over n log n", lambda n: divided(phases(n), n * log2(n)))


def phases(n: int) -> int:
    """The sum of ceil(log2 i) for i = 2..n."""
    power = (n - 1).bit_length()
    return n * power - (1 << power) + 1


@claim(
    "TS.S61-sheu95",
    "Section 6.1, [17]",
    stars(),
    "((p-1) log2 n + n log2 n)(T_s + m T_c/p) is least over real p > 0 at sqrt((n-1) m T_c/T_s), of the order of sqrt(n m "
    "T_c/T_s). Looked "
    "for among rational p with T_s = T_c = 1 and m so that this is 1/8, 1/4, .., 64.",
    reading="over real p, as in section 4.1, whose formulation it follows; log2 n is a factor of all times and leaves the "
    "best p where it is",
)
def _best_sheu95(see: See) -> None:
    n = see.where.n
    for wanted in (Fraction(2) ** power for power in range(-3, 7)):
        m = wanted * wanted / (n - 1)
        tried = [wanted * j / 16 for j in range(1, 65)]
        times = [((p - 1) + n) * (1 + m / p) for p in tried]
        found = tried[times.index(min(times))]
        see.equal("p of the least time", found, root((n - 1) * m) or 0, m=str(m), T_s=1, T_c=1)
    see.same_order("the best p over sqrt(n m T_c/T_s)", lambda n: sqrt(divided(n - 1, n)))
