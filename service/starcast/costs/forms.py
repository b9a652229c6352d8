"""The closed form of every algorithm of the catalogue, and the optimal number of pieces."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt, sqrt

from starcast.collectives import catalogue
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.reductions import REVERSED
from starcast.costs import (
    edge_disjoint,
    fragopoulou_akl,
    hypercube,
    nk_star,
    recorded,
    reductions,
    tseng_sheu,
)
from starcast.costs.machine import Cost, Form, Machine, check_message
from starcast.support.errors import InputError
from starcast.topologies import Topology, as_topology

#: The cost for a number of pieces.
Price = Callable[[int], Cost]


@dataclass(frozen=True)
class Entry:
    """The price of an algorithm.

    Attributes:
        form: ``form(topology, ports, **arguments)``, its closed form.
        each_tree: whether a message is split among ``degree`` trees before it is split into
            segments.
        each_node: whether a message is split among all nodes before that.
    """

    form: Callable[..., Form]
    each_tree: bool = False
    each_node: bool = False

    def split(self, topology: Topology, pieces: int) -> int:
        """Return the number of units of a message, for a number of segments or messages."""
        trees = topology.degree if self.each_tree else 1
        return pieces * trees * (topology.nodes if self.each_node else 1)


_SCATTERS: dict[str, Callable[..., Form]] = {
    "balanced": fragopoulou_akl.BALANCED.form,
    "near-balanced": fragopoulou_akl.NEAR_BALANCED.form,
    "perfectly-balanced": fragopoulou_akl.PERFECTLY_BALANCED.form,
    "one-port": fragopoulou_akl.ONE_PORT_SCATTER.form,
    "edge-disjoint": edge_disjoint.scatter,
}
FORMS = {
    ("broadcast", "greedy"): Entry(tseng_sheu.greedy),
    ("broadcast", "multiple"): Entry(tseng_sheu.multiple, each_tree=True),
    ("broadcast", "recursive-substar"): Entry(tseng_sheu.recursive_substar),
    ("broadcast", "edge-disjoint"): Entry(edge_disjoint.broadcast),
    ("broadcast", "nk-greedy"): Entry(nk_star.greedy),
    ("broadcast", "nk-multiple"): Entry(nk_star.multiple, each_tree=True),
    ("broadcast", "binomial"): Entry(hypercube.binomial),
    ("broadcast", "edge-disjoint-binomial"): Entry(hypercube.edge_disjoint_binomial),
    ("broadcast", "optimal"): Entry(recorded.optimal_broadcast),
    ("broadcast", "substar-doubling"): Entry(recorded.substar_doubling),
    ("broadcast", "symbol-doubling"): Entry(recorded.symbol_doubling),
    ("allgather", "dimension-change"): Entry(tseng_sheu.dimension_change, each_tree=True),
    ("allgather", "rotated-hamiltonian"): Entry(fragopoulou_akl.ROTATED_HAMILTONIAN.form),
    ("allgather", "necklace"): Entry(fragopoulou_akl.NECKLACE.form),
    ("allgather", "hamiltonian-cycle"): Entry(fragopoulou_akl.HAMILTONIAN_CYCLE.form),
    ("allgather", "edge-disjoint"): Entry(edge_disjoint.allgather),
    ("allgather", "hamiltonian-decomposition"): Entry(recorded.hamiltonian_decomposition),
    ("allgather", "nk-greedy"): Entry(nk_star.greedy_allgather),
    ("allgather", "nk-multiple"): Entry(nk_star.multiple_allgather, each_tree=True),
    **{("scatter", name): Entry(form) for name, form in _SCATTERS.items()},
    ("allgather", "ring"): Entry(reductions.ring),
    ("allgather", "binomial"): Entry(reductions.doubling),
    ("alltoall", "necklace"): Entry(fragopoulou_akl.RULE_9.form),
    ("alltoall", "perfectly-balanced"): Entry(fragopoulou_akl.RULE_10.form),
    ("alltoall", "exact"): Entry(fragopoulou_akl.EXACT_ALLTOALL.form),
    ("alltoall", "one-port"): Entry(fragopoulou_akl.ONE_PORT_ALLTOALL.form),
    ("alltoall", "edge-disjoint"): Entry(edge_disjoint.alltoall),
}
for (_collective, _name), _entry in list(FORMS.items()):
    if _collective in REVERSED:  # what runs backwards takes as long
        FORMS[REVERSED[_collective], _name] = _entry
    if _collective == "broadcast" and ("allgather", _name) not in FORMS:
        _form = reductions.reduce_and_broadcast(_entry.form, not _entry.each_tree)
        FORMS["allreduce", _name] = replace(_entry, form=_form)
    if _collective == "allgather":
        _form = reductions.scatter_and_gather(_entry.form)
        FORMS["allreduce", _name] = replace(_entry, form=_form, each_node=True)


def unit_bytes(
    topology: Topology | str,
    collective: str,
    algorithm: str,
    message_bytes: Fraction,
    **arguments: int | str,
) -> Fraction:
    """Return the bytes of one unit of a message that an algorithm splits.

    ``messages=M`` splits the message into M units (a stream of M packets of m/M bytes: Tseng &
    Sheu 1997, Table 1, row [16]), ``segments=p`` into p units per tree. With neither argument the
    message is one unit per tree.

    Arguments are those of `closed_form`.

    Raises:
        InputError: as in `closed_form`.
    """
    check_message(message_bytes)
    topology = as_topology(topology)
    definition, entry = _find(topology, collective, algorithm)
    values = definition.resolve_arguments(topology, arguments)
    pieces = int(values[definition.split_argument]) if definition.split_argument else 1
    return Fraction(message_bytes) / entry.split(topology, pieces)


def closed_form(
    topology: Topology | str,
    collective: str,
    algorithm: str,
    ports: str,
    message_bytes: Fraction,
    machine: Machine,
    **arguments: int | str,
) -> Cost:
    """Return the papers' cost of an algorithm.

    The modules of `FORMS` document each form and whether executions agree with it, and
    `Cost.note` summarizes this. The source is the paper that states the form, or "starcast".

    Args:
        topology: the topology or its spec.
        collective: the name of the collective.
        algorithm: the name of the algorithm.
        ports: ``all`` or ``one``.
        message_bytes: m, the bytes of the message.
        machine: T_s and T_c.
        arguments: the algorithm's arguments.

    Raises:
        InputError: a name or an argument is invalid, or the algorithm is not defined on the
            topology.

    Example:
        >>> machine = costs.Machine(t_s=Fraction(100), t_c=Fraction(1))
        >>> costs.closed_form("S5", "broadcast", "greedy", "all", Fraction(1000), machine).time
        Fraction(6600, 1)
    """
    check_message(message_bytes)
    topology = as_topology(topology)
    definition, entry = _find(topology, collective, algorithm)
    ports = definition.resolve_ports(ports)
    form = entry.form(topology, ports, **definition.resolve_arguments(topology, arguments))
    return form.price(message_bytes, machine)


def optimal_pieces(
    topology: Topology | str,
    collective: str,
    algorithm: str,
    ports: str,
    message_bytes: Fraction,
    machine: Machine,
    **arguments: int | str,
) -> tuple[float, int]:
    """Return the number of segments (or messages) with the least closed-form time.

    Only numbers that the algorithm is defined for count: multiples of n-1 for the perfectly
    balanced trees.

    Arguments are those of `closed_form`, without the number of pieces.

    Returns:
        The optimum over the reals, and over whole numbers >= 1; see `find_optimum`.

    Raises:
        InputError: the algorithm does not split its messages, or T_s is 0, so that more pieces are
            always better.
    """
    topology = as_topology(topology)
    definition, _ = _find(topology, collective, algorithm)
    name = definition.split_argument
    if name is None:
        raise InputError(
            f"{definition} does not split its messages", hint="omit the number of segments"
        )

    def price(pieces: int) -> Cost:
        values = {**arguments, name: pieces}
        return closed_form(topology, collective, algorithm, ports, message_bytes, machine, **values)

    # All roundings in the papers' forms are by the degree.
    allowed = [
        pieces
        for pieces in range(1, topology.degree + 1)
        if definition.refusal(topology, {**arguments, name: pieces}) is None
    ]
    return find_optimum(price, machine, topology.degree, allowed)


def find_optimum(
    price: Price, machine: Machine, period: int, allowed: Iterable[int]
) -> tuple[float, int]:
    """Return the number of pieces with the least time: over the reals, and over whole numbers.

    With p pieces a pipeline has a + cp start-ups and b + d/p bytes, and the time is least for
    p = sqrt(d T_c/(c T_s)): equation (5) of Tseng & Sheu 1997 and similar forms in Table 1. The
    real optimum ignores roundings. If steps are rounded up, as in ceil(Mx/(n-1)), the formula holds
    for p = r, r + period, r + 2 period, .. for each r, and the best whole number for r is one of
    the two next to the real optimum. Of equal times the fewest pieces win.

    Args:
        price: the cost of p pieces, as above.
        machine: T_s and T_c.
        period: the number of pieces after which roundings repeat.
        allowed: the allowed numbers among 1..period; if r is allowed, so is r + period, and so on.

    Raises:
        InputError: T_s is 0, so that more pieces are always better.
    """
    if machine.t_s == 0:
        raise InputError(
            "with t_s = 0 there is no best number of segments", hint="give a positive t_s"
        )
    squares = {first: _square(price, machine, first, period) for first in {period, *allowed}}
    candidates = []
    for first in allowed:
        turns = max(0, isqrt(int(squares[first])) - first) // period
        candidates += [first + turns * period, first + (turns + 1) * period]
    return sqrt(squares[period]), min(candidates, key=lambda pieces: (price(pieces).time, pieces))


def _square(price: Price, machine: Machine, first: int, period: int) -> Fraction:
    """Return the square of the real optimum, from the costs of ``first`` and the next number."""
    second = first + period
    fewer = price(first)
    more = price(second)
    start_ups_per_piece = (more.start_ups - fewer.start_ups) / period
    saved_bytes = (fewer.bytes - more.bytes) * first * second / period
    return max(Fraction(0), saved_bytes * machine.t_c / (start_ups_per_piece * machine.t_s))


def _find(topology: Topology, collective: str, name: str) -> tuple[Algorithm, Entry]:
    algorithm = catalogue.find(collective, name)
    catalogue.check_topology(algorithm, topology)
    if (collective, name) not in FORMS:
        raise InputError(
            f"{algorithm} has no closed form",
            hint="execute it: 'starcast run once' and 'starcast cost table --simulate' price it",
        )
    return algorithm, FORMS[collective, name]
