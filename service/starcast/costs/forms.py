"""The closed form of every algorithm of the catalogue, and what follows from it: units, times, the best number of pieces."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from starcast.collectives import catalogue
from starcast.collectives.algorithm import Algorithm, Arguments
from starcast.costs import edge_disjoint, fragopoulou_akl, hypercube, nk_star, tseng_sheu
from starcast.costs.machine import Cost, Form, Machine, check_message
from starcast.costs.optimum import optimum
from starcast.errors import InputError
from starcast.topologies import Topology, as_topology


@dataclass(frozen=True)
class Entry:
    """How an algorithm is priced.

    Attributes:
        form: ``form(topology, ports, **arguments)``, its closed form.
        each_tree: whether a message is cut for ``degree`` trees, and each tree's share again by segments.
    """

    form: Callable[..., Form]
    each_tree: bool = False


FORMS = {
    ("broadcast", "greedy"): Entry(tseng_sheu.greedy),
    ("broadcast", "multiple"): Entry(tseng_sheu.multiple, each_tree=True),
    ("broadcast", "recursive-substar"): Entry(tseng_sheu.recursive_substar),
    ("broadcast", "edge-disjoint"): Entry(edge_disjoint.broadcast),
    ("broadcast", "nk-greedy"): Entry(nk_star.greedy),
    ("broadcast", "nk-multiple"): Entry(nk_star.multiple, each_tree=True),
    ("broadcast", "binomial"): Entry(hypercube.binomial),
    ("broadcast", "edge-disjoint-binomial"): Entry(hypercube.edge_disjoint_binomial),
    ("allgather", "dimension-change"): Entry(tseng_sheu.dimension_change, each_tree=True),
    ("allgather", "rotated-hamiltonian"): Entry(fragopoulou_akl.rotated_hamiltonian),
    ("allgather", "necklace"): Entry(fragopoulou_akl.necklace),
    ("allgather", "hamiltonian-cycle"): Entry(fragopoulou_akl.hamiltonian_cycle),
    ("allgather", "edge-disjoint"): Entry(edge_disjoint.allgather),
    ("allgather", "nk-greedy"): Entry(nk_star.greedy_allgather),
    ("allgather", "nk-multiple"): Entry(nk_star.multiple_allgather, each_tree=True),
    **{
        (collective, name): Entry(form)
        for collective in ("scatter", "gather")  # a gather is a scatter run backwards
        for name, form in (
            ("balanced", fragopoulou_akl.balanced),
            ("near-balanced", fragopoulou_akl.near_balanced),
            ("perfectly-balanced", fragopoulou_akl.perfectly_balanced),
            ("one-port", fragopoulou_akl.one_port_scatter),
            ("edge-disjoint", edge_disjoint.scatter),
        )
    },
    ("alltoall", "necklace"): Entry(fragopoulou_akl.rule_9),
    ("alltoall", "perfectly-balanced"): Entry(fragopoulou_akl.rule_10),
    ("alltoall", "exact"): Entry(fragopoulou_akl.exact_alltoall),
    ("alltoall", "one-port"): Entry(fragopoulou_akl.one_port_alltoall),
    ("alltoall", "edge-disjoint"): Entry(edge_disjoint.alltoall),
}


def unit_bytes(
    topology: Topology | str, collective: str, algorithm: str, m: Fraction, **arguments: int | str
) -> Fraction:
    """The bytes of one unit when a message of m bytes is cut for that algorithm.

    ``messages=M`` cuts it into M units (a stream of M packets of m/M bytes: Tseng & Sheu 1997, Table 1, row [16]),
    ``segments=p`` into p for each tree; with neither, a message is one unit for each tree that it is cut for.

    Raises:
        InputError: a name or an argument is wrong, m is negative, or the algorithm is not defined on the topology.
    """
    check_message(m)
    where = as_topology(topology)
    rule, entry = _entry(where, collective, algorithm)
    values = rule.resolve_arguments(where, arguments)
    pieces = int(values[rule.split_argument]) if rule.split_argument else 1
    return Fraction(m) / (pieces * (where.degree if entry.each_tree else 1))


def closed_form(
    topology: Topology | str,
    collective: str,
    algorithm: str,
    ports: str,
    m: Fraction,
    machine: Machine,
    **arguments: int | str,
) -> Cost:
    """The papers' time of an algorithm for a message of m bytes.

    What each form is, and whether executions agree with it, say the functions of `FORMS`, and in a few words its ``note``. Its
    source is the paper that states it; "starcast" stands where no paper does.

    Raises:
        InputError: a name or an argument is wrong, m is negative, or the algorithm is not defined on the topology.
    """
    check_message(m)
    where = as_topology(topology)
    rule, entry = _entry(where, collective, algorithm)
    model = rule.resolve_ports(ports)
    return entry.form(where, model, **rule.resolve_arguments(where, arguments)).priced(m, machine)


def best_share(
    topology: Topology | str,
    collective: str,
    algorithm: str,
    ports: str,
    m: Fraction,
    machine: Machine,
    **arguments: int | str,
) -> tuple[float, int]:
    """The number of segments (or messages) with the least closed-form time: over the reals, and over whole numbers >= 1.

    See `starcast.costs.optimum`; ``arguments`` are the algorithm's others, such as ``copies``. Only numbers that the algorithm
    is defined for count: multiples of n-1 for the perfectly balanced trees.

    Raises:
        InputError: the algorithm does not cut its messages, or T_s is 0, so that more segments are always better.
    """
    where = as_topology(topology)
    rule, _ = _entry(where, collective, algorithm)
    split_argument = rule.split_argument
    if split_argument is None:
        raise InputError(
            f"{rule} does not cut its messages", hint="leave the number of segments out"
        )

    def price(pieces: int) -> Cost:
        return closed_form(
            where, collective, algorithm, ports, m, machine, **{**arguments, split_argument: pieces}
        )

    # Every rounding of the papers is by the degree.
    allowed = [
        pieces
        for pieces in range(1, where.degree + 1)
        if _defined(rule, where, {**arguments, split_argument: pieces})
    ]
    return optimum(price, machine, where.degree, allowed)


def _defined(rule: Algorithm, topology: Topology, arguments: Arguments) -> bool:
    return rule.refusal(topology, arguments) is None


def _entry(topology: Topology, collective: str, algorithm: str) -> tuple[Algorithm, Entry]:
    rule = catalogue.find(collective, algorithm)
    catalogue.check_topology(rule, topology)
    return rule, FORMS[collective, algorithm]
