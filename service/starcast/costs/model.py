"""Machines, exact costs of collectives, and lower bounds on costs.

The papers state the bounds of `lower_bound` for their topologies: Tseng & Sheu 1997, Lemmas 1 and 2
(S_n); Li, Chen, Xiang & Yao, Lemmas 1 and 2 (S_{n,k}); Fragopoulou & Akl 1993, Tables 4 (S_n) and 5
(Q_d); Fragopoulou & Akl 1996, Tables 1 and 2 (S_n) and 3 (Q_d), which contain bounds for x copies
of each message.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from starcast.collectives.model import Schedule, check_collective, check_ports
from starcast.costs import bounds, linear_program
from starcast.costs.bounds import Bound
from starcast.judges.simulator import Simulation, simulate, timing
from starcast.judges.simulator.faults import FaultLike
from starcast.support.axes import check_execution
from starcast.support.errors import InputError
from starcast.support.integers import check_count
from starcast.support.text import pluralize
from starcast.topologies import Topology, as_topology
from starcast.topologies.flows import bottleneck, keep, link_connectivity


@dataclass(frozen=True)
class Machine:
    """A machine, described by its start-up time and its time per byte, in the same unit of time.

    Attributes:
        t_s: T_s, the start-up time of a packet.
        t_c: T_c, the time per byte.

    Raises:
        InputError: a time is negative.
    """

    t_s: Fraction
    t_c: Fraction

    def __post_init__(self) -> None:
        for name in ("t_s", "t_c"):
            time = getattr(self, name)
            if time < 0:
                raise InputError(
                    f"{name} must not be negative, but is {time}", hint="use a time of 0 or more"
                )


@dataclass(frozen=True)
class Cost:
    """The cost of a collective, with its exact time.

    Attributes:
        steps: the number of steps (in some papers, slots or sub-slots); None if the source states
            only a time.
        start_ups: the number of successive start-ups, which is the coefficient of T_s.
        bytes: the number of bytes sent in succession, which is the coefficient of T_c.
        transmissions: the number of times that a unit crosses a link; None if unknown.
        time: ``start_ups * T_s + bytes * T_c``, plus the latencies of links, if any; for a lower
            bound, the larger of the two terms.
        source: the paper, and the number of the theorem, rule or table; for an execution,
            ``simulated`` or ``simulated, asynchronous``.
        note: the difference between an execution and the closed form; empty if there is none.
    """

    steps: int | None
    start_ups: Fraction
    bytes: Fraction
    transmissions: int | None
    time: Fraction
    source: str
    note: str = ""


@dataclass(frozen=True)
class Form:
    """A cost formula (closed form) for given arguments: the time as a function of m, T_s and T_c.

    The time is start_ups * T_s + bytes_per_m * m * T_c.

    Attributes:
        start_ups: the coefficient of T_s.
        bytes_per_m: the coefficient of m T_c, which is the number of bytes sent in succession for
            each byte of the message.
        transmissions: the number of times that a unit crosses a link; None if unknown.
        source: the paper, and the number of the theorem, rule or table.
        steps: the number of steps; None if the source states only a time.
        note: the difference between an execution and the formula; empty if there is none.
    """

    start_ups: int
    bytes_per_m: Fraction
    transmissions: int | None
    source: str
    steps: int | None
    note: str = ""

    def price(self, message_bytes: Fraction, machine: Machine) -> Cost:
        """Return the cost for a message of the given number of bytes on a machine."""
        sent = self.bytes_per_m * Fraction(message_bytes)
        return Cost(
            steps=self.steps,
            start_ups=Fraction(self.start_ups),
            bytes=sent,
            transmissions=self.transmissions,
            time=Fraction(self.start_ups * machine.t_s + sent * machine.t_c),
            source=self.source,
            note=self.note,
        )


def stepwise_form(
    steps: int, packet: Fraction | int, transmissions: int | None, source: str, note: str = ""
) -> Form:
    """Return the cost formula for steps of equal length: steps * (T_s + packet * m * T_c).

    Args:
        steps: the number of steps.
        packet: the size of a packet, divided by the size of the message.
        transmissions: the number of times that a unit crosses a link; None if unknown.
        source: the paper, and the number of the theorem, rule or table.
        note: the difference between an execution and the formula.
    """
    return Form(steps, Fraction(steps * packet), transmissions, source, steps, note)


@dataclass(frozen=True)
class CriticalWork:
    """The packets and units on the critical path of an execution.

    The total time is the sum of the durations of these packets. In the synchronous model, a step
    without packets counts as a packet without units.

    Attributes:
        packets: the number of packets on the path; in the synchronous model, the number of steps.
        units: the sum, over these packets, of the number of units divided by the capacity of the
            packet's link.
        latency: the sum of the latencies of these packets' links.
        source: the value of `Cost.source` for a cost that is computed from this work.
    """

    packets: int
    units: int | Fraction
    latency: int = 0
    source: str = "simulated, asynchronous"


def execute_in_model(
    schedule: Schedule,
    unit: Fraction,
    machine: Machine,
    execution: str,
    faults: Iterable[FaultLike] = (),
) -> tuple[Simulation, CriticalWork | None]:
    """Execute a schedule in an execution model.

    Args:
        schedule: the schedule to execute.
        unit: bytes per unit; 0 for a message of 0 bytes.
        machine: T_s and T_c, which determine which packets wait.
        execution: the execution model, ``synchronous`` or ``asynchronous``.
        faults: the faulty nodes and links, in the form that `starcast.simulate` accepts.

    Returns:
        Two values: the simulation, and the work on the critical path, which determines the time.
        For a synchronous execution over equal links, the work is None, because the simulation alone
        determines the cost.

    Raises:
        RejectedError: the schedule has a violation; if the work is None, the simulation reports the
            violation instead.
        InputError: the execution model is unknown, a fault is invalid, or the collective cannot
            have this number of units.
        LimitError: the execution does not fit into memory.
    """
    check_execution(execution)
    topology = schedule.topology
    if execution == "synchronous" and topology.has_equal_links:
        return simulate(schedule, faults), None
    if execution == "synchronous":
        result = timing(schedule, 1, machine.t_s, unit * machine.t_c, "synchronous", faults)
    else:
        result = timing(schedule, 1, machine.t_s, unit * machine.t_c, "asynchronous", faults)
    path = result.critical_path
    if topology.has_equal_links:
        return result.simulation, CriticalWork(len(path), sum(send.units for send in path))
    units, latency = Fraction(0), 0
    for send in path:
        link = topology.ports.index(send.port), topology.node(send.sender)
        # NumPy integers are converted to Python integers. Otherwise a Fraction would contain them,
        # and its products could overflow.
        capacity = 1 if topology.capacities is None else int(topology.capacities[link])
        units += Fraction(send.units, capacity)
        latency += 0 if topology.latencies is None else int(topology.latencies[link])
    if execution == "asynchronous":
        return result.simulation, CriticalWork(len(path), units, latency)
    # Every step costs a start-up, even a step without packets.
    work = CriticalWork(result.simulation.steps, units, latency, "simulated")
    return result.simulation, work


def price_simulation(
    simulation: Simulation, unit: Fraction, machine: Machine, critical: CriticalWork | None = None
) -> Cost:
    """Return the cost of an execution.

    Args:
        simulation: the simulation of the execution.
        unit: bytes per unit, as computed by `starcast.costs.unit_bytes`.
        machine: T_s and T_c.
        critical: the work on the critical path, from `execute_in_model`. If it is None, the
            execution is synchronous over equal links, and each step lasts as long as its largest
            packet.
    """
    if critical is None:
        sizes = int(simulation.packet_sizes.sum())
        critical = CriticalWork(simulation.steps, sizes, source="simulated")
    sent = critical.units * Fraction(unit)
    return Cost(
        steps=simulation.steps,
        start_ups=Fraction(critical.packets),
        bytes=sent,
        transmissions=simulation.transmissions,
        time=critical.packets * machine.t_s + critical.latency + sent * machine.t_c,
        source=critical.source,
    )


def check_message(message_bytes: Fraction) -> None:
    """Check that the size of a message in bytes is not negative.

    Raises:
        InputError: the size is negative.
    """
    if message_bytes < 0:
        raise InputError(
            f"message_bytes must not be negative, but is {message_bytes}",
            hint="use 0 bytes or more",
        )


def ceil_log2(value: Fraction | int) -> int:
    """Return the smallest integer c >= 0 with 2^c >= value; the result is exact."""
    return max(ceil(value) - 1, 0).bit_length()


@dataclass(frozen=True)
class Work:
    """The minimum work of a collective, counted in messages from one source to one destination.

    Attributes:
        through: the number of messages that the busiest node has to send or receive; in an alltoall
            or allreduce, the average number of messages that a node has to send.
        sent: the total number of transmissions over links.
    """

    through: Fraction
    sent: int


def max_copies(topology: Topology) -> int:
    """Return the maximum number of copies of a message, each through its own spanning tree.

    No two trees share a directed link, so this number is the edge connectivity of the topology
    (Edmonds 1973).
    """
    return link_connectivity(topology)


def least_work(topology: Topology, collective: str, root: int = 0) -> Work:
    """Return the minimum number of messages that nodes have to send or receive in a collective.

    * broadcast: the root sends the message, and every other node receives it.
    * allgather: every node receives the messages of the N-1 other nodes.
    * scatter, gather: the root sends, or receives, N-1 messages; each travels the distance between
      the root and the message's node.
    * alltoall: the N-1 messages of a node travel t links in total, where t is the sum of the
      distances from a node. So a node sends t messages on average.
    * reduce: the reverse of a broadcast: the root receives the sum, and every other node sends.
    * reduce-scatter: the reverse of an allgather: every node sends a sum to each of the N-1 other
      nodes.
    * allreduce: the message of every node is a vector. N nodes need at least 2(N-1) one-way
      transmissions until each has the data of all (Harary & Schwenk 1974). So a node sends
      2(N-1)/N messages on average (Patarasuk & Yuan 2009).

    N is the number of endpoints.
    """
    others = topology.endpoints - 1
    if collective in ("broadcast", "reduce"):
        return Work(Fraction(1), others)
    if collective in ("allgather", "reduce-scatter"):
        return Work(Fraction(others), topology.endpoints * others)
    if collective == "allreduce":
        return Work(Fraction(2 * others, topology.endpoints), 2 * others)
    if collective == "alltoall":
        total = _sum_all_distances(topology)
        return Work(Fraction(total, topology.endpoints), total)
    return Work(Fraction(others), topology.distance_sum_from(root))


def _sum_all_distances(topology: Topology) -> int:
    """Return the sum of the distances over all ordered pairs of endpoints."""
    if topology.has_translations:
        return topology.nodes * topology.distance_sum
    roots = range(topology.endpoints)
    return keep(topology, "distances", lambda: sum(map(topology.distance_sum_from, roots)))


def _least_start_ups(topology: Topology, collective: str, ports: str, root: int) -> Bound:
    if topology.has_translations:
        furthest = Bound(Fraction(topology.diameter), "the diameter")
    else:
        furthest = bounds.least_start_ups(topology, collective, root)
    rounds = ceil_log2(topology.nodes) if topology.endpoints == topology.nodes else 0
    # In the one-port model, the number of informed nodes at most doubles in each step. With
    # switches, it can grow faster, because a switch sends any number of packets in a step.
    if ports == "one" and rounds > furthest.amount:
        return Bound(Fraction(rounds), f"log2 of {topology.nodes:,} nodes, rounded up")
    return furthest


def _least_share(topology: Topology, collective: str, ports: str, root: int) -> Bound:
    """Return a lower bound on the number of messages that some link carries in succession.

    In the one-port model, a node sends or receives one message at a time, so the number of its
    messages is a bound too.
    """
    work = least_work(topology, collective, root)
    through = work.through
    if topology.endpoints < topology.nodes:
        # Switches forward any number of packets, so only the messages of the endpoints themselves
        # are counted.
        alone = {"alltoall": topology.endpoints - 1, "allreduce": 1}
        through = Fraction(alone.get(collective, through))
    # Over a link of capacity c, a packet takes 1/c of the time that it takes over capacity 1.
    through /= topology.largest_capacity
    single = Bound(through, "a node sends or receives one packet at a time")
    if topology.has_translations:
        share = work.through / topology.degree
        return single if ports == "one" else Bound(share, f"{topology.degree} links of a node")
    shared = bounds.least_share(topology, collective, root, work.sent)
    return max(single, shared, key=lambda bound: bound.amount) if ports == "one" else shared


def lower_bound(
    topology: Topology | str,
    collective: str,
    ports: str,
    message_bytes: Fraction,
    machine: Machine,
    messages: int | None = None,
    copies: int = 1,
    root: int | str = 0,
) -> Cost:
    """Return lower bounds on the time and the number of steps of a collective.

    The bound on the time is the larger of start-ups times T_s and bytes times T_c, because in the
    papers a node may start up while other nodes send. In the simulator, all packets of a step start
    together, so the sum of the two terms is a lower bound too. The sum is at most twice the
    maximum.

    Start-ups: some unit has to travel the diameter D, which takes D start-ups. In the one-port
    model, the number of nodes that hold a unit of a given node at most doubles in a step, so
    ceil(log2 N) steps are needed. In a gather or reduce, the same holds in reverse. Li et al. print
    log2(N-1) for the allgather; if N-1 is a power of two, this value is smaller than ceil(log2 N).
    Messages of 0 bytes need these start-ups too.

    Bytes: the bound is m times the number of messages that the busiest node sends or receives, or
    that the average node sends in an alltoall (`Work.through`). In the one-port model, one link at
    a time carries these bytes. In the all-port model, a node divides them among its ``degree``
    links. This node is the root in a broadcast, scatter or gather, any node in an allgather, and
    the average node in an alltoall. Hence the bounds on the time are

    * broadcast: max{D T_s, (m/degree) T_c}, or max{D T_s, ceil(log2 N) T_s, m T_c} in the one-port
      model;
    * allgather, scatter, gather: the same with (N-1) m in place of m;
    * alltoall: the same with t m, where t is the sum of all distances from a node;
    * reduce: the bound of a broadcast, by reversal;
    * reduce-scatter: the bound of an allgather, by reversal;
    * allreduce: the same with 2 ((N-1)/N) m. An allreduce needs no more than D start-ups: in D
      steps, all nodes can send each other whole vectors.

    In a topology without translations, D is the largest distance from the root, or the diameter if
    all nodes send. If the network is too large for computing the diameter, the largest distance
    from node 0 replaces it. The bytes are the largest of the bounds that
    `starcast.costs.bounds.least_share` derives from cuts and from all transmissions. These bounds
    hold in the one-port model too, in addition to the bound of the busiest node.

    With switches, D is the largest distance to an endpoint, and N is the number of endpoints. In
    the one-port model a switch sends any number of packets in a step. So there is no bound of
    ceil(log2 N) steps, and the number of bytes that an endpoint sends is (N-1) m in an alltoall and
    m in an allreduce.

    With x copies, each through its own spanning tree or path, the bytes are x times as many.

    Steps: with ``messages``, the bound is for M unit messages, each in x copies, with one message
    per link and step. In a topology with translations, the bound is ceil(M x w / degree), or M x w
    in the one-port model, where w is `Work.through`. In a topology without translations, the bound
    is M x times the largest of the bounds from cuts, from all transmissions and, in the one-port
    model, from the busiest node. In a broadcast, the last unit leaves the root in step
    ceil(M x / d) or later, where d is the total capacity of the root's links (in the one-port
    model, the largest capacity of a link). This unit then needs D - 1 more steps, or max{D,
    ceil(log2 N)} - 1 in the one-port model. A reduce has the same bound. Without ``messages``, the
    bound on the steps is the number of start-ups.

    Args:
        topology: the topology or its spec.
        collective: the name of the collective.
        ports: ``all`` or ``one``.
        message_bytes: m, the number of bytes in a message to one destination.
        machine: T_s and T_c.
        messages: M, the number of unit messages into which a message is split; used only for the
            bounds on steps and transmissions.
        copies: x, the number of copies of each message.
        root: label or rank of the root; ignored if the topology has translations or all nodes send.

    Raises:
        InputError: an argument is invalid.

    Example:
        >>> from starcast import costs
        >>> machine = costs.Machine(t_s=Fraction(100), t_c=Fraction(1))
        >>> costs.lower_bound("S5", "broadcast", "all", Fraction(1000), machine).time
        Fraction(600, 1)
    """
    topology = as_topology(topology)
    check_collective(collective)
    check_ports(ports)
    check_message(message_bytes)
    if messages is not None:
        check_count("messages", messages)
    check_count("copies", copies, max_copies(topology), f"on {topology.spec}")
    rank = topology.root(root)
    starts = _least_start_ups(topology, collective, ports, rank)
    share = _least_share(topology, collective, ports, rank)
    start_ups = int(starts.amount)
    sent = Fraction(message_bytes) * copies * share.amount
    steps = start_ups
    transmissions = None
    if messages is not None:
        units = messages * copies
        steps = max(ceil(units * share.amount), start_ups)
        if collective in ("broadcast", "reduce"):
            links = topology.largest_capacity
            if ports == "all":
                links = int(topology.node_capacities[rank])
            # The root needs at least ceil(units / links) steps to send all units or, in a reduce,
            # to receive them.
            steps = max(steps, ceil(Fraction(units, links)) + start_ups - 1)
        transmissions = units * least_work(topology, collective, rank).sent
    source = _source(topology, collective, ports, messages, copies)
    if not topology.has_translations:
        source = f"start-ups: {starts.reason}; bytes: {share.reason}"
        if collective in _REFERENCES:
            source += f"; {_REFERENCES[collective]}"
    return Cost(
        steps=steps,
        start_ups=starts.amount,
        bytes=sent,
        transmissions=transmissions,
        time=max(Fraction(start_ups * machine.t_s), Fraction(sent * machine.t_c)),
        source=source,
    )


def bottleneck_cut(topology: Topology | str, message_bytes: Fraction, machine: Machine) -> Cost:
    """Return ForestColl's lower bound on the time of an all-port allgather, by a bottleneck cut.

    Let S be a set of nodes that contains some endpoints, but not all. The m bytes of every endpoint
    in S have to leave S. So an allgather takes at least size(S) m T_c / B(S), where size(S) is the
    number of endpoints in S, and B(S) is the total capacity of the links that leave S. The optimum
    is the maximum of this time over all such S. Zhao et al. (ForestColl) prove that spanning trees
    approach this bound on any network as messages are split into more and more parts. The bound
    includes no start-ups.

    In a topology with translations, the maximum of size(S)/B(S) is (N-1)/degree. It is attained by
    the set of all nodes but one, which exactly ``degree`` links leave. Any other S has at most N-1
    nodes, and at least ``degree`` links leave it: these topologies are connected and
    vertex-transitive, and the edge connectivity of such a graph is its degree (Mader 1971). So the
    bytes of this bound equal those of `lower_bound`. On other topologies, the maximum is found by
    maximum flows, at least one for each node.

    Raises:
        InputError: an argument is invalid.

    Example:
        >>> from starcast import costs
        >>> machine = costs.Machine(t_s=Fraction(100), t_c=Fraction(1))
        >>> costs.bottleneck_cut("S4", Fraction(3), machine).time
        Fraction(23, 1)
    """
    topology = as_topology(topology)
    inside, links = topology.nodes - 1, topology.degree
    if not topology.has_translations:
        cut = bottleneck(topology, None)
        inside, links = int(cut.inside[: topology.endpoints].sum()), cut.capacity
    leaving = pluralize(links, "link")
    if topology.capacities is not None:
        leaving = f"links with a capacity of {links:,}"
    leave = f"{pluralize(inside, 'node')}, left by {leaving}"
    source = FORESTCOLL if topology.has_translations else f"{FORESTCOLL}: {leave}"
    return _without_start_ups(Fraction(inside, links), message_bytes, machine, source)


def concurrent_flow(topology: Topology | str, message_bytes: Fraction, machine: Machine) -> Cost:
    """Return a lower bound on the time of an all-port alltoall, by a linear program.

    Let each directed link have a length. Then the sum of the distances of all node pairs, divided
    by the sum of all lengths, is a lower bound on the messages on the busiest link. The linear
    program finds the lengths for which the bound is largest. If messages may be divided among
    routes, an alltoall attains this bound (Shahrokhi & Matula 1990), apart from start-ups, which
    the bound does not include. The bound is computed exactly from the solver's lengths, so the
    bound holds even if the lengths are imprecise.

    Raises:
        InputError: the topology has switches or links of different capacities, or ``message_bytes``
            is negative.
        LimitError: the linear program is too large.
        UnavailableError: SciPy is not installed.
    """
    share = linear_program.least_busiest_link(as_topology(topology))
    return _without_start_ups(share, message_bytes, machine, linear_program.SOURCE)


def _without_start_ups(
    share: Fraction, message_bytes: Fraction, machine: Machine, source: str
) -> Cost:
    check_message(message_bytes)
    sent = Fraction(message_bytes) * share
    return Cost(None, Fraction(0), sent, None, Fraction(sent * machine.t_c), source)


FORESTCOLL = "ForestColl (Zhao et al. 2024, arXiv 2402.06787)"
REDUCTIONS_SOURCE = "by reversal: Chan, Heimlich, Purkayastha & van de Geijn 2007, section 3"
ALLREDUCE_SOURCE = "Harary & Schwenk 1974; Patarasuk & Yuan 2009"
OURS = "starcast: the argument of Tseng & Sheu 1997, Lemmas 1 and 2"
#: References for the bounds on reductions, by collective.
_REFERENCES = {
    "reduce": REDUCTIONS_SOURCE, "reduce-scatter": REDUCTIONS_SOURCE, "allreduce": ALLREDUCE_SOURCE,
}  # fmt: skip
#: The papers that state bounds on the time of broadcast and allgather, by family.
_LEMMAS = {"star": "Tseng & Sheu 1997", "nk-star": "Li, Chen, Xiang & Yao"}
#: For each topology family, the numbers of two tables with bounds on steps: a table of Fragopoulou
#: & Akl 1993, for one copy, and a table of Fragopoulou & Akl 1996, for broadcasts and for several
#: copies.
_TABLES = {"star": (4, 2), "hypercube": (5, 3)}


def steps_source(topology: Topology, collective: str, ports: str, copies: int) -> str:
    """Return the source of the bound on steps for unit messages: a paper's table, or starcast."""
    if topology.family not in _TABLES:
        return OURS
    single_copy, several_copies = _TABLES[topology.family]
    if collective != "broadcast" and copies == 1:
        return f"Fragopoulou & Akl 1993, Table {single_copy}"
    return f"Fragopoulou & Akl 1996, Table {several_copies}" if ports == "all" else OURS


def _source(
    topology: Topology, collective: str, ports: str, messages: int | None, copies: int
) -> str:
    if collective == "allreduce":
        return ALLREDUCE_SOURCE
    if collective in ("reduce", "reduce-scatter"):
        return REDUCTIONS_SOURCE
    lemma = {"broadcast": "Lemma 1", "allgather": "Lemma 2"}.get(collective)
    steps = steps_source(topology, collective, ports, copies)
    if lemma is None or topology.family not in _LEMMAS:
        return steps
    source = f"{_LEMMAS[topology.family]}, {lemma}"
    return f"{source}; {steps}" if messages is not None or copies > 1 else source
