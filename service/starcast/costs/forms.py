"""The cost formulas (closed forms) of algorithms, and the optimal number of pieces.

Pieces are the segments or messages into which an algorithm splits a message.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isqrt, sqrt

from starcast.collectives.algorithm import Algorithm, find_algorithm
from starcast.collectives.doubling import LARGEST_OPTIMAL
from starcast.collectives.reductions import REVERSED
from starcast.costs import fragopoulou_akl, pipelines
from starcast.costs.model import Cost, Form, Machine, ceil_log2, check_message, stepwise_form
from starcast.records import shipped_record
from starcast.support.errors import InputError
from starcast.support.integers import ceil_div
from starcast.topologies import Topology, as_topology

#: A function that returns the cost for a number of pieces (segments or messages).
Price = Callable[[int], Cost]


@dataclass(frozen=True)
class Entry:
    """The cost formula of an algorithm, and the way in which the algorithm splits a message.

    Attributes:
        form: a function that returns the cost formula, called as ``form(topology, ports,
            **arguments)``.
        each_tree: whether a message is first divided among ``degree`` trees, and then each part is
            split into segments.
        each_node: whether a message is first divided among all nodes.
    """

    form: Callable[..., Form]
    each_tree: bool = False
    each_node: bool = False

    def split(self, topology: Topology, pieces: int) -> int:
        """Return the number of units in a message, given the number of segments or messages."""
        trees = topology.degree if self.each_tree else 1
        return pieces * trees * (topology.nodes if self.each_node else 1)


# Algorithms that use starcast's records (the best schedules found by searches), and similar
# algorithms. The formulas in this section are exact.


_RECORDS = "starcast: records"


def optimal_broadcast(topology: Topology, _ports: str) -> Form:
    """Return the cost formula of an optimal broadcast.

    On N nodes, the broadcast takes N-1 transmissions. The number of steps is the value of
    starcast's built-in one-port-broadcast record on the topology.
    """
    steps = shipped_record("one-port-broadcast", topology.spec).value
    return stepwise_form(steps, 1, topology.nodes - 1, _RECORDS)


def substar_doubling(topology: Topology, _ports: str) -> Form:
    """Return the cost formula of the broadcast by substar doubling on S_{n,k}.

    On N nodes, the broadcast takes R_k steps and N-1 transmissions. With m = n-k+1, R_1 is
    ceil(log2 m). For j > 1, R_j is R_{j-1} + 1 plus the minimum of max(i + j-2, i + c_i) over i =
    1..R_1, where c_i is the smallest c with (2^i - 1) 2^c >= m - 1.
    """
    size, length = topology.n - int(topology.k or 1) + 1, int(topology.k or 1)
    doubling = ceil_log2(size)
    steps = doubling
    for position in range(2, length + 1):
        steps += 1 + min(
            own + max(position - 2, ceil_log2(Fraction(size - 1, 2**own - 1)))
            for own in range(1, doubling + 1)
        )
    return stepwise_form(steps, 1, topology.nodes - 1, _RECORDS)


def symbol_doubling(topology: Topology, _ports: str) -> Form:
    """Return the cost formula of the broadcast by symbol doubling on S_n.

    The number of steps is the sum of 1 + ceil(log2(i-1)) for i = 2..n. The broadcast takes n!-1
    transmissions.
    """
    return stepwise_form(_symbol_rounds(topology.n), 1, topology.nodes - 1, "starcast")


def optimal_substars(topology: Topology, _ports: str) -> Form:
    """Return the cost formula of a broadcast on S_n that ends with optimal broadcasts on S_m.

    Here m is the smaller of n and 9. The number of steps is the value of starcast's built-in
    one-port-broadcast record on S_m, plus the sum of 1 + ceil(log2(i-1)) for i = m+1..n. The
    broadcast takes n!-1 transmissions.
    """
    substar = min(topology.n, LARGEST_OPTIMAL)
    steps = shipped_record("one-port-broadcast", f"S{substar}").value
    steps += _symbol_rounds(topology.n) - _symbol_rounds(substar)
    return stepwise_form(steps, 1, topology.nodes - 1, _RECORDS)


def _symbol_rounds(n: int) -> int:
    return n - 1 + pipelines.phases(n - 1)


def hamiltonian_decomposition(topology: Topology, _ports: str, messages: int) -> Form:
    """Return the cost formula of an allgather along C link-disjoint Hamiltonian cycles.

    On N nodes with M messages each, the allgather takes ceil(k(N-1)/2) steps, where k = ceil(M/C),
    and M N(N-1) transmissions.
    """
    cycles = shipped_record("hamiltonian-decomposition", topology.spec).value
    steps = ceil_div(ceil_div(messages, cycles) * (topology.nodes - 1), 2)
    transmissions = messages * topology.nodes * (topology.nodes - 1)
    return stepwise_form(steps, Fraction(1, messages), transmissions, _RECORDS)


# The ring, recursive doubling, and allreduces
#
# A reduce is the reverse of a broadcast, and a reduce-scatter the reverse of an allgather, so each
# has the cost formula of its reverse. The message of an allreduce is a node's whole vector, of m
# bytes. References: P. Patarasuk and X. Yuan, JPDC 69(2), 2009; R. Thakur, R. Rabenseifner and W.
# Gropp, IJHPCA 19(1), 2005.


def ring(topology: Topology, ports: str, messages: int) -> Form:
    """Return the cost formula of an allgather of M messages on a ring of N nodes.

    The allgather takes M(N-1) steps in the one-port model. In the all-port model it takes
    ceil(M(N-1)/2) steps, because messages travel in both directions. The formula is exact.
    """
    hops = messages * (topology.nodes - 1)
    steps = hops if ports == "one" else ceil_div(hops, 2)
    transmissions = topology.nodes * hops
    return stepwise_form(steps, Fraction(1, messages), transmissions, "Patarasuk & Yuan 2009")


def doubling(topology: Topology, _ports: str) -> Form:
    """Return the cost formula of an allgather by recursive doubling on Q_d, with N = 2^d nodes.

    The time is d T_s + (N-1) m T_c, which is exact: in the d steps, every node sends 1, 2, 4, ..
    messages.
    """
    others = topology.nodes - 1
    return Form(
        start_ups=topology.n,
        bytes_per_m=Fraction(others),
        transmissions=topology.nodes * others,
        source="Thakur, Rabenseifner & Gropp 2005",
        steps=topology.n,
    )


def scatter_and_gather(allgather: Callable[..., Form]) -> Callable[..., Form]:
    """Return a function that returns the cost formula of an allreduce in two parts.

    The parts are a reduce-scatter and an allgather. ``allgather`` returns the cost formula of the
    allgather; the reduce-scatter has the same costs. On N nodes, the messages of both parts have
    m/N bytes.
    """

    def form(topology: Topology, ports: str, **arguments: int | str) -> Form:
        half = allgather(topology, ports, **arguments)
        return replace(_twice(half), bytes_per_m=2 * half.bytes_per_m / topology.nodes)

    return form


def reduce_and_broadcast(broadcast: Callable[..., Form], is_single: bool) -> Callable[..., Form]:
    """Return a function that returns the cost formula of an allreduce by a reduce and a broadcast.

    In the all-port model, if the broadcast uses a single tree (``is_single``) and sends no copies,
    the broadcast of a unit begins as soon as the unit's reduce is complete. If a broadcast of p
    units takes S(p) steps, the allreduce takes S(p) + S(1) steps. This formula is exact if the
    formula of the broadcast is exact. In all other cases the formula assumes that the broadcast
    begins after the whole reduce, which gives an upper bound if there are several units.
    """

    def form(topology: Topology, ports: str, **arguments: int | str) -> Form:
        half = broadcast(topology, ports, **arguments)
        single = arguments | dict.fromkeys(arguments.keys() & {"segments", "messages"}, 1)
        both = _twice(half)
        if is_single and ports == "all" and "copies" not in arguments:
            steps = half.start_ups + broadcast(topology, ports, **single).start_ups
            packet = half.bytes_per_m / half.start_ups
            return replace(both, start_ups=steps, bytes_per_m=steps * packet, steps=steps)
        if not arguments:
            return both
        note = "an execution can be shorter: reduce and broadcast are pipelined"
        return replace(both, note="; ".join(filter(None, (half.note, note))))

    return form


def _twice(half: Form) -> Form:
    return replace(
        half,
        start_ups=2 * half.start_ups,
        bytes_per_m=2 * half.bytes_per_m,
        transmissions=None if half.transmissions is None else 2 * half.transmissions,
        steps=None if half.steps is None else 2 * half.steps,
    )


# The cost formulas of all algorithms


FORMS = {
    **{key: Entry(partial(row.form, key[0])) for key, row in fragopoulou_akl.ROWS.items()},
    ("broadcast", "greedy"): Entry(pipelines.greedy),
    ("broadcast", "multiple"): Entry(pipelines.multiple, each_tree=True),
    ("broadcast", "recursive-substar"): Entry(pipelines.recursive_substar),
    ("broadcast", "edge-disjoint"): Entry(fragopoulou_akl.broadcast),
    ("broadcast", "nk-greedy"): Entry(pipelines.nk_greedy),
    ("broadcast", "nk-multiple"): Entry(pipelines.nk_multiple, each_tree=True),
    ("broadcast", "binomial"): Entry(pipelines.binomial),
    ("broadcast", "edge-disjoint-binomial"): Entry(pipelines.edge_disjoint_binomial),
    ("broadcast", "optimal"): Entry(optimal_broadcast),
    ("broadcast", "substar-doubling"): Entry(substar_doubling),
    ("broadcast", "symbol-doubling"): Entry(symbol_doubling),
    ("broadcast", "optimal-substars"): Entry(optimal_substars),
    ("allgather", "dimension-change"): Entry(pipelines.dimension_change, each_tree=True),
    ("allgather", "edge-disjoint"): Entry(fragopoulou_akl.allgather),
    ("allgather", "hamiltonian-decomposition"): Entry(hamiltonian_decomposition),
    ("allgather", "nk-greedy"): Entry(pipelines.nk_greedy_allgather),
    ("allgather", "nk-multiple"): Entry(pipelines.nk_multiple_allgather, each_tree=True),
    ("scatter", "edge-disjoint"): Entry(fragopoulou_akl.scatter),
    ("allgather", "ring"): Entry(ring),
    ("allgather", "binomial"): Entry(doubling),
    ("alltoall", "edge-disjoint"): Entry(fragopoulou_akl.alltoall),
}
# `list` copies the items, because the loop adds entries to `FORMS`.
for (_collective, _name), _entry in list(FORMS.items()):
    if _collective in REVERSED:  # a schedule and its reverse take the same time
        FORMS[REVERSED[_collective], _name] = _entry
    # If a broadcast and an allgather have the same name, the allreduce uses the allgather, because
    # the schedules of `collectives.reductions` use it too.
    if _collective == "broadcast" and ("allgather", _name) not in FORMS:
        _form = reduce_and_broadcast(_entry.form, not _entry.each_tree)
        FORMS["allreduce", _name] = replace(_entry, form=_form)
    if _collective == "allgather":
        _form = scatter_and_gather(_entry.form)
        FORMS["allreduce", _name] = replace(_entry, form=_form, each_node=True)


def unit_bytes(
    topology: Topology | str,
    collective: str,
    algorithm: str,
    message_bytes: Fraction,
    **arguments: int | str,
) -> Fraction:
    """Return the number of bytes per unit, given how an algorithm splits a message into units.

    ``messages=M`` splits the message into M units (a stream of M packets of m/M bytes: Tseng &
    Sheu 1997, Table 1, row [16]), ``segments=p`` into p units per tree. With neither argument the
    message is one unit per tree. If an allreduce begins with a reduce-scatter, the message is first
    split among all nodes.

    `closed_form` describes the arguments.

    Raises:
        InputError: a name or an argument is invalid, or the algorithm has no closed form or is not
            defined on the topology.
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
    """Return the cost of an algorithm according to its closed form.

    Each formula is defined by a function, whose docstring explains the formula and its differences
    from executions. `Cost.note` summarizes these differences. `Cost.source` names the paper that
    states the formula; it begins with "starcast" if no paper states it.

    Args:
        topology: the topology or its spec.
        collective: the name of the collective.
        algorithm: the name of the algorithm.
        ports: ``all`` or ``one``.
        message_bytes: m, the number of bytes in a message.
        machine: T_s and T_c.
        arguments: the algorithm's arguments.

    Raises:
        InputError: a name or an argument is invalid; the algorithm has no closed form, or is not
            defined on the topology; or the links have different capacities or latencies.

    Example:
        >>> from starcast import costs
        >>> machine = costs.Machine(t_s=Fraction(100), t_c=Fraction(1))
        >>> costs.closed_form("S5", "broadcast", "greedy", "all", Fraction(1000), machine).time
        Fraction(6600, 1)
    """
    check_message(message_bytes)
    topology = as_topology(topology)
    definition, entry = _find(topology, collective, algorithm)
    if not topology.has_equal_links:
        raise InputError(
            f"the closed form of {definition} does not hold on {topology.spec}, because its links "
            "have different capacities or latencies",
            hint="execute the schedule instead",
        )
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
    """Return the number of segments or messages for which the closed form gives the minimum time.

    Only numbers of pieces for which the algorithm is defined are considered. The perfectly balanced
    trees, for example, need a multiple of n-1.

    The arguments are those of `closed_form`, without the number of pieces.

    Returns:
        The optimal real number of pieces, which ignores rounding, and the optimal positive integer.

    Raises:
        InputError: a name or an argument is invalid; the algorithm does not split its messages or
            has no closed form; the links have different capacities or latencies; or T_s is 0, so
            more pieces are always better.
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

    # The papers' formulas round quotients whose divisor is the degree. So the effect of rounding
    # repeats whenever the number of pieces grows by the degree.
    allowed = [
        pieces
        for pieces in range(1, topology.degree + 1)
        if definition.refusal(topology, {**arguments, name: pieces}) is None
    ]
    return find_optimum(price, machine, topology.degree, allowed)


def find_optimum(
    price: Price, machine: Machine, period: int, allowed: Iterable[int]
) -> tuple[float, int]:
    """Return the number of pieces for which the time is smallest, as a real number and an integer.

    With p pieces a pipeline has a + cp start-ups and b + d/p bytes, for constants a, b, c and d.
    The time is minimal for p = sqrt(d T_c/(c T_s)): see equation (5) of Tseng & Sheu 1997 and
    similar formulas in Table 1. The real optimum ignores rounding. The number of steps may contain
    a rounded term, such as ceil(Mx/(n-1)). Then, for each r, the times for p = r, r + period, r + 2
    period, .. follow a formula of this form, with constants that depend on r. The best of these
    values of p is one of the two values next to the minimum of their formula. If times are equal,
    the smallest number of pieces is returned.

    Args:
        price: a function that returns the cost of p pieces.
        machine: T_s and T_c.
        period: the number of pieces after which the effect of rounding repeats.
        allowed: the allowed numbers among 1..period; if r is allowed, so is r + period, and so on.

    Raises:
        InputError: T_s is 0, so more pieces are always better.
    """
    check_start_up(machine)
    squares = {first: _square(price, machine, first, period) for first in {period, *allowed}}
    candidates = []
    for first in allowed:
        # The integer square root is exact, unlike a floating-point root.
        turns = max(0, isqrt(int(squares[first])) - first) // period
        candidates += [first + turns * period, first + (turns + 1) * period]
    return sqrt(squares[period]), min(candidates, key=lambda pieces: (price(pieces).time, pieces))


def check_start_up(machine: Machine) -> None:
    """Check that an optimal number of pieces exists.

    Raises:
        InputError: T_s is 0, so more pieces are always better.
    """
    if machine.t_s == 0:
        raise InputError(
            "with t_s = 0 more segments are always better: there is no best number of segments",
            hint="use a positive t_s, or specify the number of segments",
        )


def _square(price: Price, machine: Machine, first: int, period: int) -> Fraction:
    """Return the exact square of the real number of pieces for which the time is smallest.

    The square is computed from the costs with ``first`` and with ``first + period`` pieces, on
    which rounding has the same effect (see `find_optimum`).
    """
    second = first + period
    fewer = price(first)
    more = price(second)
    start_ups_per_piece = (more.start_ups - fewer.start_ups) / period
    saved_bytes = (fewer.bytes - more.bytes) * first * second / period
    return max(Fraction(0), saved_bytes * machine.t_c / (start_ups_per_piece * machine.t_s))


def _find(topology: Topology, collective: str, name: str) -> tuple[Algorithm, Entry]:
    algorithm = find_algorithm(collective, name, topology)
    if (collective, algorithm.name) not in FORMS:
        raise InputError(
            f"{algorithm} has no closed form",
            hint="execute it with 'starcast run once' or 'starcast cost table --simulate'",
        )
    return algorithm, FORMS[collective, algorithm.name]
