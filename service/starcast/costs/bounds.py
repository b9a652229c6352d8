"""Lower bounds: what no schedule of a collective can beat under a port model, by counting.

The papers' bounds are these arguments on their topologies: Tseng & Sheu 1997, Lemmas 1 and 2 (S_n); Li, Chen, Xiang & Yao,
Lemmas 1 and 2 (S_{n,k}); Fragopoulou & Akl 1993, Tables 4 (S_n) and 5 (Q_d); Fragopoulou & Akl 1996, Tables 1 and 2 (S_n) and
3 (Q_d), with x copies.
"""

from dataclasses import dataclass
from fractions import Fraction

from starcast.collectives.model import check_collective, check_ports
from starcast.costs.counts import ceil_log2
from starcast.costs.machine import Cost, Machine, check_message
from starcast.support.integers import ceil_div, check_count
from starcast.topologies import Topology, as_topology


@dataclass(frozen=True)
class Work:
    """What a collective makes somebody carry, at least, in messages of one (source, destination) pair, one copy.

    Attributes:
        through: messages that have to pass, one after the other, the busiest place if that had one link.
        sent: transmissions of all nodes together.
    """

    through: int
    sent: int


def work(topology: Topology, collective: str) -> Work:
    """What must be carried, at least.

    * broadcast: the root sends the message, and everybody else receives it.
    * allgather: every node receives the messages of the N-1 others.
    * scatter, gather: the root sends, or receives, N-1 messages, and they travel the distances of their nodes.
    * alltoall: every node has N-1 messages, which travel t links, the sum of the distances. So on average a node sends t
      messages on.
    """
    nodes, others = topology.nodes, topology.nodes - 1
    if collective == "broadcast":
        return Work(1, others)
    if collective == "allgather":
        return Work(others, nodes * others)
    if collective == "alltoall":
        return Work(topology.distance_sum, nodes * topology.distance_sum)
    return Work(others, topology.distance_sum)


def lower_bound(
    topology: Topology | str,
    collective: str,
    ports: str,
    m: Fraction,
    machine: Machine,
    messages: int | None = None,
    copies: int = 1,
) -> Cost:
    """What no schedule of a collective beats: max{start-ups T_s, bytes T_c}, and the least number of steps.

    Start-ups: something has to travel the diameter D. One-port, what one node has (or, in a gather, lacks) reaches at most
    twice as many nodes after a step as before it, so ceil(log2 N) as well; Li et al. print log2(N-1) for the allgather,
    which is less where N-1 is a power of two. So it is for messages of no bytes too: m = 0 leaves the start-ups.

    Bytes: w of `work` times m, as long as one link at a time does it, one-port; all-port the root (broadcast, scatter, gather),
    or any node (allgather), or on average a node (alltoall) shares them among its ``degree`` links. Hence

    * broadcast: max{D T_s, m/degree T_c}; one-port max{D T_s, ceil(log2 N) T_s, m T_c};
    * allgather, scatter, gather: with (N-1) m in place of m;
    * alltoall: with t m, t the sum of all distances from a node.

    The greater of the two counts, as in the papers, where a node may start up while others send. In steps that all start
    together, as the simulator has them, not even their sum is beaten: it is at most twice as much.

    With x copies, each through a spanning tree (or, of what is addressed, a path) of its own, there are x times the bytes.

    Steps: with ``messages``, those of M unit messages, one a link and step: ceil(Mxw/degree), one-port Mxw; a broadcast needs
    D - 1 more all-port, max{D, ceil(log2 N)} - 1 more one-port, for what leaves the root last. Without, the start-ups.

    Args:
        topology: where, itself or by its name.
        collective: which.
        ports: ``all`` or ``one``.
        m: bytes of a message, for one destination.
        machine: T_s and T_c.
        messages: M, the unit messages that m is cut into, where the steps of such are asked for.
        copies: x.

    Raises:
        InputError: there is no such collective or port model, or m, messages or copies cannot be.
    """
    where = as_topology(topology)
    _check(where, collective, ports, m, messages, copies)
    needed = work(where, collective)
    links = where.degree if ports == "all" else 1
    start_ups = where.diameter if ports == "all" else max(where.diameter, ceil_log2(where.nodes))
    carried = Fraction(m) * copies * needed.through / links
    steps, transmissions = start_ups, None
    if messages is not None:
        full = ceil_div(messages * copies * needed.through, links)
        steps = full + start_ups - 1 if collective == "broadcast" else max(full, start_ups)
        transmissions = messages * copies * needed.sent
    return Cost(
        steps=steps,
        start_ups=Fraction(start_ups),
        bytes=carried,
        transmissions=transmissions,
        time=max(Fraction(start_ups * machine.T_s), Fraction(carried * machine.T_c)),
        source=_source(where, collective, ports, messages, copies),
    )


def _check(
    topology: Topology, collective: str, ports: str, m: Fraction, messages: int | None, copies: int
) -> None:
    check_collective(collective)
    check_ports(ports)
    check_message(m)
    if messages is not None:
        check_count("messages", messages)
    check_count("copies", copies, topology.degree, f"on {topology.spec}")


OURS = "starcast: the argument of Tseng & Sheu 1997, Lemmas 1 and 2"
#: Who states the bound on the time of broadcast and allgather, by family.
_LEMMAS = {"star": "Tseng & Sheu 1997", "nk-star": "Li, Chen, Xiang & Yao"}
#: The table of Fragopoulou & Akl 1993 on one copy, and that of Fragopoulou & Akl 1996 on broadcast and copies, by family.
_TABLES = {"star": (4, 2), "hypercube": (5, 3)}


def steps_source(topology: Topology, collective: str, ports: str, copies: int) -> str:
    """Who states the least number of steps of unit messages: a table, or nobody but starcast."""
    if topology.family not in _TABLES:
        return OURS
    one, many = _TABLES[topology.family]
    if collective != "broadcast" and copies == 1:
        return f"Fragopoulou & Akl 1993, Table {one}"
    return f"Fragopoulou & Akl 1996, Table {many}" if ports == "all" else OURS


def _source(
    topology: Topology, collective: str, ports: str, messages: int | None, copies: int
) -> str:
    lemma = {"broadcast": "Lemma 1", "allgather": "Lemma 2"}.get(collective)
    steps = steps_source(topology, collective, ports, copies)
    if lemma is None or topology.family not in _LEMMAS:
        return steps
    source = f"{_LEMMAS[topology.family]}, {lemma}"
    return f"{source}; {steps}" if messages is not None or copies > 1 else source
