"""Li, Chen, Xiang & Yao: the lower bounds, Lemmas 1 and 2, and the rows 'optimal' of Tables 1 and 2 that repeat them."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.growth import Number, divided, greatest
from starcast.claims.reference import bfs
from starcast.claims.reference.nk_labels import size
from starcast.claims.reference.nk_pipelines import array, doublings, pluralize
from starcast.claims.reference.pipelines import exact_time, parameters
from starcast.claims.registry import check, register
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.model import Schedule
from starcast.topologies import Topology
from starcast.trees.catalogue import single_trees

_GRID = parameters((1, 2), (0, 1, 4), (0, 1, 4))
#: Rows, of all sources where they have to be written out, up to which a schedule is held against a bound.
_MOST = 80_000
_ALL_ROOTS = 130  # nodes up to which a broadcast is looked at from two roots
_ON_S_N = 4  # up to here the algorithms of S_n are held against the bounds of S_{n,n-1} too


def _weight(topology: Topology) -> int:
    return 200 * topology.degree * (4 if topology.translation_keeps_ports else topology.nodes)


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


def _of_the_house(check: ClaimCheck, collective: str, ports: str) -> Iterator[Schedule]:
    """Every algorithm of the catalogue for a collective and port model, with several arguments, from two roots."""
    n, k = check.topology.n, size(check.topology)
    specs = [check.topology.spec, *([f"S{n}"] if k == n - 1 and n <= _ON_S_N else [])]
    for topology in map(check.objects.topology, specs):
        for rule in algorithms_on(topology, collective):
            if ports not in rule.ports:
                continue
            sources = (
                1
                if collective == "broadcast" or topology.translation_keeps_ports
                else topology.nodes
            )
            for chosen in product(*(_values(one.name, topology) for one in rule.arguments)):
                given = dict(zip((one.name for one in rule.arguments), chosen, strict=True))
                if (
                    rule.refusal(topology, given) is None
                    and rule.rows(topology, given) * sources <= _MOST
                ):
                    for root in (
                        (0, topology.nodes - 1)
                        if collective == "broadcast" and topology.nodes <= _ALL_ROOTS
                        else (0,)
                    ):
                        yield check.objects.schedule(
                            topology.spec, collective, rule.name, ports, root, **given
                        )


def _values(name: str, topology: Topology) -> tuple[int | str, ...]:
    if name == "base":
        return single_trees(topology)[:3]
    return tuple(sorted({1, topology.degree} if name == "copies" else {1, 2, topology.degree}))


def _counts(check: ClaimCheck, collective: str, ports: str) -> None:
    """What the argument counts, by search."""
    n, k, topology = check.topology.n, size(check.topology), check.topology
    for root in (0, topology.nodes - 1):
        pluralize(check, root)
    reached = int(np.count_nonzero(bfs.distances(check.objects, topology.spec) >= 0))
    check.equal(
        "messages that a node gets",
        1 if collective == "broadcast" else reached - 1,
        _bytes(n, k, collective, "one"),
    )
    if ports == "one":
        stated = _log2(arrangements(n, k) - (collective == "allgather"))
        check.equal(
            "doublings until so many know", doublings(reached - (collective == "allgather")), stated
        )


def _not_beaten(
    check: ClaimCheck, collective: str, ports: str, *, start_ups_alone: bool = False
) -> None:
    """No schedule of the house takes less than the greater of the two parts."""
    n, k = check.topology.n, size(check.topology)
    _counts(check, collective, ports)
    least, share = _start_ups(n, k, collective, ports), Fraction(_bytes(n, k, collective, ports))
    for made in _of_the_house(check, collective, ports):
        took = check.execute(made)
        if start_ups_alone:
            check.at_least(f"start-ups of {made.algorithm}", took.steps, least, of=made)
            continue
        one = collective == "broadcast" or made.symmetric
        found = exact_time(took, made.units // (1 if one else made.topology.nodes), _GRID)
        terms = zip(_GRID.T_s * least, _GRID.m * _GRID.T_c * share, strict=True)
        check.at_least(
            f"time of {made.algorithm}",
            found,
            array(Fraction(max(pair)) for pair in terms),
            of=made,
            **_GRID.place,
        )


@check("NK.L1", bytes_per_node=_weight)
def _lemma1(check: ClaimCheck) -> None:
    for ports in ("all", "one"):
        _not_beaten(check, "broadcast", ports)


@check("NK.L2", bytes_per_node=_weight)
def _lemma2(check: ClaimCheck) -> None:
    for ports in ("all", "one"):
        _not_beaten(check, "allgather", ports)


# Rows 'optimal': (table, collective, port model, ids, lemma)


def _order(check: ClaimCheck, collective: str, ports: str, part: str) -> None:
    """The lemma with T_c = 0, or T_s = 0, over the order in the cell."""
    _counts(check, collective, ports)

    if part == "start-up":
        check.order(
            "the lemma with T_c = 0 over D T_s",
            lambda n, k: divided(greatest([nk_diameter(n, k), 0]), nk_diameter(n, k)),
        )
    else:
        name = ("m" if collective == "broadcast" else "m(N-1)") + (
            "/(n-1)" if ports == "all" else ""
        )
        check.order(
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


def _rows(table: int, collective: str) -> None:
    for ports in ("all", "one"):
        row = f"NK.Tab{table}.{ports}port-optimal"
        register(
            f"{row}-startup",
            partial(_order, collective=collective, ports=ports, part="start-up")
            if ports == "all"
            else partial(_not_beaten, collective=collective, ports=ports, start_ups_alone=True),
            bytes_per_node=_weight,
        )
        register(
            f"{row}-transmission",
            partial(_order, collective=collective, ports=ports, part="transmission"),
        )
        register(
            f"{row}-overall",
            partial(_not_beaten, collective=collective, ports=ports),
            bytes_per_node=_weight,
        )


_rows(1, "broadcast")
_rows(2, "allgather")
