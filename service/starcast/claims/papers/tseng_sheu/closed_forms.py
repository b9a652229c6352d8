"""Tseng & Sheu 1997: times in closed form, each held against executions of what the house has of it."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from starcast import checkers
from starcast.claims import growth
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter, even_share, multiple_height
from starcast.claims.growth import Number, log2
from starcast.claims.object_cache import ObjectCache
from starcast.claims.reference.pipelines import Parameters, Pipeline, exact_time, parameters
from starcast.collectives.broadcast import build_pipeline
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.trees.catalogue import single_trees

#: How many segments are executed: 1..SEGMENTS.
SEGMENTS = 4
SMALL = parameters()


def weight(topology: Topology) -> int:
    """Bytes a node of `multiple`, executed with 1..SEGMENTS segments under both port models."""
    return 80 * topology.degree * SEGMENTS * (SEGMENTS + 1)


# Closed forms of section 6.1 and of Theorems 1 and 2; b = m T_c


def sheu93(n: int) -> Pipeline:
    """[16]: (2n-4+p)(T_s + b/p)."""
    return Pipeline(2 * n - 3)


def day(n: int) -> Pipeline:
    """[7]: (D_n-1+p)(T_s + b/p)."""
    return Pipeline(diameter(n))


def sheu95(n: int) -> Pipeline:
    """[17]: ((p-1) log2 n + n log2 n)(T_s + b/p)."""
    return Pipeline(n, slot=log2(n))


def theorem1(n: int) -> Pipeline:
    """(3): (h+p-1)(T_s + 2b/(p(n-1))); h as Lemma 5 has it."""
    return Pipeline(multiple_height(n), Fraction(2, n - 1))


def theorem2(n: int) -> Pipeline:
    """n-1 times (3)."""
    return Pipeline(multiple_height(n), Fraction(2, n - 1), n - 1)


def lemma1_allport(n: int, T_s: Number, b: Number) -> Number:  # noqa: N803
    """max{D_n T_s, b/(n-1)}."""
    return growth.greatest([diameter(n) * T_s, growth.divided(b, n - 1)])


def lemma1_oneport(n: int, T_s: Number, b: Number) -> Number:  # noqa: N803
    """max{D_n T_s, ceil(log2 n!) T_s, b}."""
    return growth.greatest(
        [diameter(n) * T_s, growth.rounded_up(log2(growth.factorial(n))) * T_s, b]
    )


# Executions


def height(check: ClaimCheck, construction: str) -> int:
    """The greatest height of a forest, counted by a checker."""
    trees = check.objects.forest(check.topology.spec, construction)
    found = checkers.height(
        check.topology, trees.parent_port, trees.root, bound=check.topology.nodes
    ).measured
    return max(found) if isinstance(found, tuple) else int(found)


def algorithm1(check: ClaimCheck, p: int, ports: str = "all") -> Schedule:
    """Algorithm 1 with p segments a tree; one-port as section 4.2 simulates it."""
    return check.objects.schedule(check.topology.spec, "broadcast", "multiple", ports, segments=p)


def held_theorem1(check: ClaimCheck) -> None:
    """Algorithm 1 ends after the slots of its closed form, in each of which two segments at most share a link."""
    n = check.topology.n
    for p in range(1, SEGMENTS + 1):
        made = algorithm1(check, p)
        took = check.execute(made)
        check.equal("slots of Algorithm 1", took.steps, multiple_height(n) + p - 1, p=p, of=made)
        check.true(
            "a packet of two segments is large enough", took.largest_packet <= 2, p=p, of=made
        )


def held_theorem2(check: ClaimCheck) -> None:
    """The one-port simulation of Algorithm 1 ends within n-1 sub-slots for each of its slots, and needs the last slot."""
    n = check.topology.n
    for p in range(1, SEGMENTS + 1):
        made = algorithm1(check, p, "one")
        took = check.execute(made)
        check.equal(
            "slots of n-1 sub-slots",
            ceil_div(took.steps, n - 1),
            multiple_height(n) + p - 1,
            p=p,
            of=made,
        )
        check.true(
            "a packet of two segments is large enough", took.largest_packet <= 2, p=p, of=made
        )


def held_single_tree(check: ClaimCheck, algorithm: str, cut: str, high: int) -> None:
    """One tree of the stated height, pipelined in p packets all-port, takes (h'+p-1)(T_s + m T_c/p)."""
    check.equal(f"height of {algorithm}", height(check, algorithm), high)
    for p in range(1, SEGMENTS + 1):
        made = check.objects.schedule(
            check.topology.spec, "broadcast", algorithm, "all", **{cut: p}
        )
        found = exact_time(check.execute(made), made.units, SMALL)
        stated = (high + p - 1) * (SMALL.T_s + SMALL.m * SMALL.T_c * Fraction(1, p))
        check.equal(f"time of {algorithm}", found, stated, p=p, of=made, **SMALL.place)


def held_sheu93(check: ClaimCheck) -> None:
    """[16] is the tree of Sheu, Liaw & Chen 1993."""
    held_single_tree(check, "recursive-substar", "messages", 2 * check.topology.n - 3)


def held_day(check: ClaimCheck) -> None:
    """[7] is a greedy tree."""
    held_single_tree(check, "greedy", "segments", diameter(check.topology.n))


def held_hamiltonian(check: ClaimCheck) -> None:
    """Rotated Hamiltonian paths, a message a link and step: ceil((n!-1)/(n-1)) steps."""
    n = check.topology.n
    made = check.objects.schedule(
        check.topology.spec, "allgather", "rotated-hamiltonian", "all", messages=1
    )
    took = check.execute(made)
    check.equal("steps of rotated Hamiltonian paths", took.steps, even_share(n), of=made)
    check.equal("messages in a packet", took.largest_packet, 1, of=made)


def held_theorem3(check: ClaimCheck, ports: str) -> None:
    """Algorithm 2 on L(I) takes D_n T_s + (n!-1)m/(n-1) T_c; one-port, each times n-1."""
    n = check.topology.n
    slot = 1 if ports == "all" else n - 1
    made = check.objects.schedule(
        check.topology.spec, "allgather", "dimension-change", ports, base="greedy"
    )
    found = exact_time(check.execute(made), made.units, SMALL)
    carried = Fraction((growth.factorial(n) - 1) * slot, n - 1)
    stated = SMALL.T_s * diameter(n) * slot + SMALL.m * SMALL.T_c * carried
    check.equal(f"time of Algorithm 2, {ports}-port", found, stated, of=made, **SMALL.place)


def by_level(objects: ObjectCache, spec: str, construction: str) -> Schedule:
    """All-to-all broadcast down the translates of one tree, whole messages, the links of level t in step t, in packets."""

    def make() -> Schedule:
        along = objects.forest(spec, construction)
        return build_pipeline(
            along,
            "all",
            1,
            collective="allgather",
            algorithm=f"{construction} by levels",
            packets=True,
            symmetric=True,
        )

    return objects.get_or_create("schedule", (spec, "by level", construction), make)


def of_the_house(
    check: ClaimCheck, collective: str, ports: str, roots: tuple[int, ...]
) -> Iterator[Schedule]:
    """Every algorithm of the catalogue for a collective and port model, with several arguments, from several roots."""
    topology = check.topology
    for rule in algorithms_on(topology, collective):
        if ports not in rule.ports:
            continue
        values = [_values(one.name, topology) for one in rule.arguments]
        for chosen, root in product(product(*values), roots):
            given = dict(zip((one.name for one in rule.arguments), chosen, strict=True))
            if rule.refusal(topology, given) is None:
                yield check.objects.schedule(
                    topology.spec, collective, rule.name, ports, root, **given
                )


def _values(name: str, topology: Topology) -> tuple[int | str, ...]:
    if name == "base":
        return single_trees(topology)
    return tuple(sorted({1, topology.degree} if name == "copies" else {1, 2, topology.degree}))


def bound_kept(
    check: ClaimCheck, made: Schedule, of: Parameters, start_ups: int, share: Fraction
) -> None:
    """A schedule of the house takes at least max{start-ups T_s, share m T_c}, every step as long as its largest packet."""
    found = exact_time(check.execute(made), made.units, of)
    terms = zip(of.T_s * start_ups, of.m * of.T_c * share, strict=True)
    bound = np.array([Fraction(max(pair)) for pair in terms], dtype=object)
    check.at_least(f"time of {made.algorithm}", found, bound, of=made, **of.place)
