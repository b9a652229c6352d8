"""Li, Chen, Xiang & Yao: the lower bounds, Lemmas 1 and 2, and the rows 'optimal' of Tables 1 and 2 that repeat them."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from starcast.claims.declaration import Family, nk_stars
from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.growth import Number, divided, greatest
from starcast.claims.instruments import searching
from starcast.claims.instruments.nk_labels import size
from starcast.claims.instruments.nk_runs import array, counted, doublings
from starcast.claims.instruments.pipelines import exact_time, parameters
from starcast.claims.see import See
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.model import Schedule
from starcast.topologies import Topology
from starcast.trees.catalogue import single_trees

FAMILY = Family("nk_star_bounds")
claim = FAMILY.claim

_SIZES = nk_stars(6, 6, 7)
_GRID = parameters((1, 2), (0, 1, 4), (0, 1, 4))
#: Rows, of all sources where they have to be written out, up to which a schedule is held against a bound.
_MOST = 80_000
_ALL_ROOTS = 130  # nodes up to which a broadcast is looked at from two roots
_ON_S_N = 4  # up to here the algorithms of S_n are held against the bounds of S_{n,n-1} too


def _weight(where: Topology) -> int:
    return 200 * where.degree * (4 if where.translation_keeps_ports else where.nodes)


# The lemmas, as they are written; b = m T_c


def _start_ups(n: int, k: int, collective: str, ports: str) -> int:
    """The part with T_s."""
    reached = arrangements(n, k) - (collective == "allgather")
    return nk_diameter(n, k) if ports == "all" else max(nk_diameter(n, k), _log2(reached))


def _log2(count: int) -> int:
    """ceil(log2 count)."""
    return (count - 1).bit_length()


def _bytes(n: int, k: int, collective: str, ports: str) -> Number:
    """The part with T_c, over m."""
    messages = 1 if collective == "broadcast" else arrangements(n, k) - 1
    return divided(messages, n - 1) if ports == "all" else messages


def _of_the_house(see: See, collective: str, ports: str) -> Iterator[Schedule]:
    """Every algorithm of the catalogue for a collective and port model, with several arguments, from two roots."""
    n, k = see.where.n, size(see.where)
    specs = [see.where.spec, *([f"S{n}"] if k == n - 1 and n <= _ON_S_N else [])]
    for where in map(see.lab.topology, specs):
        for rule in algorithms_on(where, collective):
            if ports not in rule.ports:
                continue
            sources = (
                1 if collective == "broadcast" or where.translation_keeps_ports else where.nodes
            )
            for chosen in product(*(_values(one.name, where) for one in rule.arguments)):
                given = dict(zip((one.name for one in rule.arguments), chosen, strict=True))
                if (
                    rule.refusal(where, given) is None
                    and rule.rows(where, given) * sources <= _MOST
                ):
                    for root in (
                        (0, where.nodes - 1)
                        if collective == "broadcast" and where.nodes <= _ALL_ROOTS
                        else (0,)
                    ):
                        yield see.lab.schedule(
                            where.spec, collective, rule.name, ports, root, **given
                        )


def _values(name: str, where: Topology) -> tuple[int | str, ...]:
    if name == "base":
        return single_trees(where)[:3]
    return tuple(sorted({1, where.degree} if name == "copies" else {1, 2, where.degree}))


def _counts(see: See, collective: str, ports: str) -> None:
    """What the argument counts, by search."""
    n, k, where = see.where.n, size(see.where), see.where
    for root in (0, where.nodes - 1):
        counted(see, root)
    reached = int(np.count_nonzero(searching.distances(see.lab, where.spec) >= 0))
    see.equal(
        "messages that a node gets",
        1 if collective == "broadcast" else reached - 1,
        _bytes(n, k, collective, "one"),
    )
    if ports == "one":
        stated = _log2(arrangements(n, k) - (collective == "allgather"))
        see.equal(
            "doublings until so many know", doublings(reached - (collective == "allgather")), stated
        )


def _not_beaten(see: See, collective: str, ports: str, *, start_ups_alone: bool = False) -> None:
    """No schedule of the house takes less than the greater of the two parts."""
    n, k = see.where.n, size(see.where)
    _counts(see, collective, ports)
    least, share = _start_ups(n, k, collective, ports), Fraction(_bytes(n, k, collective, ports))
    for made in _of_the_house(see, collective, ports):
        took = see.executed(made)
        if start_ups_alone:
            see.at_least(f"start-ups of {made.algorithm}", took.steps, least, of=made)
            continue
        one = collective == "broadcast" or made.symmetric
        found = exact_time(took, made.units // (1 if one else made.topology.nodes), _GRID)
        terms = zip(_GRID.T_s * least, _GRID.m * _GRID.T_c * share, strict=True)
        see.at_least(
            f"time of {made.algorithm}",
            found,
            array(Fraction(max(pair)) for pair in terms),
            of=made,
            **_GRID.place,
        )


_ARGUED = "Counted: distances, links of the source, messages, doublings; and no schedule of the catalogue takes less, executed."


@claim(
    "NK.L1",
    "Lemma 1",
    _SIZES,
    "No one-to-all broadcast takes less than max{D T_s, m T_c/(n-1)} all-port, max{ceil(log2 N) T_s, D T_s, m T_c} one-port. "
    + _ARGUED,
    weight=_weight,
)
def _lemma1(see: See) -> None:
    for ports in ("all", "one"):
        _not_beaten(see, "broadcast", ports)


@claim(
    "NK.L2",
    "Lemma 2",
    _SIZES,
    "No all-to-all broadcast takes less than max{D T_s, (N-1)m T_c/(n-1)} all-port, max{D T_s, ceil(log2(N-1)) T_s, (N-1)m "
    "T_c} "
    "one-port. " + _ARGUED,
    weight=_weight,
)
def _lemma2(see: See) -> None:
    for ports in ("all", "one"):
        _not_beaten(see, "allgather", ports)


# Rows 'optimal': (table, collective, port model, ids, lemma)

_Cell = Callable[[See], None]


def _order(see: See, collective: str, ports: str, part: str) -> None:
    """The lemma with T_c = 0, or T_s = 0, over the order in the cell."""
    _counts(see, collective, ports)

    if part == "start-up":
        see.order(
            "the lemma with T_c = 0 over D T_s",
            lambda n, k: divided(greatest([nk_diameter(n, k), 0]), nk_diameter(n, k)),
        )
    else:
        name = ("m" if collective == "broadcast" else "m(N-1)") + (
            "/(n-1)" if ports == "all" else ""
        )
        see.order(
            f"the lemma with T_s = 0 over {name} T_c",
            lambda n, k: divided(
                greatest([0, _bytes(n, k, collective, ports)]), _cell(n, k, collective, ports)
            ),
        )


def _cell(n: int, k: int, collective: str, ports: str) -> Number:
    """The order of the transmission in the cell."""
    others = arrangements(n, k) - 1
    if collective == "broadcast":
        return divided(1, n - 1) if ports == "all" else 1
    return divided(others, n - 1) if ports == "all" else others


def _rows(table: int, collective: str, lemma: str) -> None:
    words = "one-to-all" if collective == "broadcast" else "all-to-all"
    others = "" if collective == "broadcast" else "(N-1)"
    log2 = "ceil(log2 N)" if collective == "broadcast" else "ceil(log2(N-1))"
    for ports in ("all", "one"):
        row = f"NK.Tab{table}.{ports}port-optimal"
        number = f"Table {table}, row optimal, {ports}-port"
        transmission = f"{others}m/(n-1) T_c" if ports == "all" else f"{others}m T_c"
        start_up = "D T_s" if ports == "all" else f"max{{D T_s, {log2} T_s}}"
        greater = (
            f"max{{D T_s, {transmission}}}"
            if ports == "all"
            else f"max{{D T_s, {log2} T_s, {transmission}}}"
        )
        FAMILY.add(
            f"{row}-startup",
            f"{number}, start-up",
            _SIZES,
            f"{lemma} with T_c = 0 is at most c D T_s."
            if ports == "all"
            else f"No {words} broadcast, one-port, takes less than {start_up}. {_ARGUED}",
            partial(_order, collective=collective, ports=ports, part="start-up")
            if ports == "all"
            else partial(_not_beaten, collective=collective, ports=ports, start_ups_alone=True),
            weight=_weight,
        )
        FAMILY.add(
            f"{row}-transmission",
            f"{number}, transmission",
            _SIZES,
            f"{lemma} with T_s = 0 is at most c {transmission}.",
            partial(_order, collective=collective, ports=ports, part="transmission"),
        )
        FAMILY.add(
            f"{row}-overall",
            f"{number}, overall",
            _SIZES,
            f"No {words} broadcast, {ports}-port, takes less than {greater}. {_ARGUED}",
            partial(_not_beaten, collective=collective, ports=ports),
            weight=_weight,
        )


_rows(1, "broadcast", "Lemma 1")
_rows(2, "allgather", "Lemma 2")
