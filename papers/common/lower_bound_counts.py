"""Counts from which lower bounds follow, and the schedules that are compared with the bounds.

A bound is a count, such as the diameter, or a count divided by the maximum number of messages that
a step can send. The counts are computed only from the neighbour table. The compared schedules are
those of starcast's algorithms (`catalogue_schedules`), or schedules in which every message is a
single unit (`unit_schedules`).
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import count, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import CachedTopology, tree_levels
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number
from starcast.claims.registry import Execution
from starcast.collectives import algorithm as collectives
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.model import Draft, Schedule
from starcast.collectives.rows import Columns, concatenate_rows, route_units
from starcast.topologies import Topology
from starcast.trees.construction import CONSTRUCTIONS
from starcast.trees.construction import single_trees as all_single_trees
from starcast.trees.model import Forest

from .closed_forms import parameters

#: The message sizes m, start-up times T_s and times per byte T_c for which times are compared.
BOUND_GRID = parameters((1, 2), (0, 1, 4), (0, 1, 4))
#: Maximum number of rows of a compared schedule; larger schedules take minutes and gigabytes.
_MAX_ROWS = 10_000_000


class NetworkCounts(NamedTuple):
    """Counts of a vertex-transitive network from which lower bounds follow.

    Attributes:
        nodes: number of nodes.
        links: number of links per node (the degree).
        far: the largest distance from a node (the diameter).
        total: sum of the distances from one node to all others.
    """

    nodes: Number
    links: Number
    far: Number
    total: Number


def count_from_node(check: ClaimCheck, spec: str = "", degree: int = 0) -> NetworkCounts:
    """Count a topology's nodes, links and distances by breadth-first search from the identity.

    Args:
        check: records whether all nodes have the stated degree, and whether two sample nodes have
            as many nodes at each distance as the identity.
        spec: the topology (default: the topology of the check).
        degree: degree stated by the papers (default: the number of ports in the neighbour table).
    """
    network = check.at(spec or check.spec)
    table = network.neighbours
    into = np.bincount(table.ravel(), minlength=network.nodes)
    what = f"links into every node of {network.spec}"
    check.equal(what, into, degree or len(table), node=network.label)
    profile = network.profile()
    what = f"nodes at each distance of {network.spec} are as many as from the identity"
    for root in network.roots(3)[1:3]:
        same = bool(np.array_equal(network.profile(root), profile))
        check.true(what, same, node=network.label(root))
    far = len(profile) - 1
    total = int(profile @ np.arange(far + 1))
    return NetworkCounts(int(profile.sum()), len(table), far, total)


def check_source(check: ClaimCheck, source: int, diameter: int) -> None:
    """Check that a source has n-1 links, and that its eccentricity is the stated diameter."""
    greatest = int(check.distances(source).max())
    check.equal("greatest distance from the source", greatest, diameter, source=source)
    links = set(check.neighbours[:, source].tolist()) - {source}
    check.equal("links of the source", len(links), check.n - 1, source=source)


def ceil_log2(count: int) -> int:
    """Return ceil(log2 count)."""
    return (count - 1).bit_length()


def count_doublings(count: int) -> int:
    """Return how often 1 must be doubled to reach ``count`` or more; used to check `ceil_log2`."""
    reached = 1
    doublings = 0
    while reached < count:
        reached *= 2
        doublings += 1
    return doublings


def catalogue_schedules(
    network: CachedTopology,
    collective: str,
    ports: str,
    roots: tuple[int, ...],
    *,
    most_rows: int = _MAX_ROWS,
    bases: int | None = None,
) -> Iterator[Schedule]:
    """Yield schedules of starcast's algorithms for a collective, for each of the given roots.

    Each algorithm of `algorithms_on` is tried with several values of its arguments. For an argument
    ``base``, at most ``bases`` constructions (default: all) are tried. Schedules with more than
    ``most_rows`` rows per source, or 10 million rows in total, are omitted.
    """
    degree = network.degree
    choices: dict[str, tuple[int | str, ...]] = {
        "base": single_trees(network.topology)[:bases],
        "copies": tuple(sorted({1, degree})),
    }
    pieces = tuple(sorted({1, 2, degree}))
    for algorithm in algorithms_on(network.topology, collective):
        if ports not in algorithm.ports:
            continue
        names = [argument.name for argument in algorithm.arguments]
        for values in product(*(choices.get(name, pieces) for name in names)):
            arguments = dict(zip(names, values, strict=True))
            if algorithm.refusal(network.topology, arguments) is not None:
                continue
            if algorithm.rows(network.topology, arguments) > most_rows:
                continue
            if algorithm.count(network.topology, ports, arguments) > _MAX_ROWS:
                continue
            for root in roots:
                yield network.schedule(collective, algorithm.name, ports, root, **arguments)


def single_trees(topology: Topology) -> tuple[str, ...]:
    """Return the names of starcast's constructions of one spanning tree on a topology.

    Constructions that are defined on every topology are omitted.
    """
    entries = (CONSTRUCTIONS[name] for name in all_single_trees(topology))
    return tuple(entry.name for entry in entries if entry.origin.is_shipped and entry.families)


def algorithms_on(topology: Topology, collective: str) -> tuple[Algorithm, ...]:
    """Return starcast's algorithms for a collective that are defined on a topology.

    Algorithms with a required argument are omitted. Algorithms that are defined on every topology
    are omitted too, because the papers do not describe them. The only exception is the ring on star
    graphs and hypercubes, whose Hamiltonian cycles need no search.
    """
    has_cycle = topology.family in ("star", "hypercube")
    return tuple(
        algorithm
        for algorithm in collectives.algorithms_on(topology, collective)
        if algorithm.origin.is_shipped
        and (algorithm.families or (has_cycle and algorithm.name == "ring"))
    )


#: Schedules that send one unit per link and step: collective, port model, algorithm, arguments.
_ON_STARS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("broadcast", "all", "greedy", ("segments",)),
    ("broadcast", "all", "recursive-substar", ("messages",)),
    ("broadcast", "all", "edge-disjoint", ("messages", "copies")),
    ("allgather", "one", "hamiltonian-cycle", ("messages",)),
    ("allgather", "all", "rotated-hamiltonian", ("messages",)),
    ("allgather", "all", "necklace", ("messages",)),
    ("allgather", "all", "edge-disjoint", ("messages", "copies")),
    ("scatter", "one", "one-port", ("messages",)),
    ("scatter", "all", "balanced", ("messages",)),
    ("scatter", "all", "near-balanced", ("messages",)),
    ("scatter", "all", "perfectly-balanced", ("messages",)),
    ("scatter", "all", "edge-disjoint", ("messages", "copies")),
    ("alltoall", "one", "one-port", ("messages",)),
    ("alltoall", "all", "necklace", ()),
    ("alltoall", "all", "perfectly-balanced", ("messages",)),
    ("alltoall", "all", "exact", ("messages",)),
    ("alltoall", "all", "edge-disjoint", ("messages", "copies")),
)
#: The algorithm that requires n >= 3 and a number of messages that is a multiple of n-1.
_MULTIPLES_ONLY = "perfectly-balanced"
_ROOTED = ("broadcast", "scatter")


def unit_schedules(
    check: ClaimCheck, collective: str, ports: str = "all", messages: int = 1, copies: int = 1
) -> Iterator[Schedule]:
    """Yield schedules of a collective in which every message is one unit.

    For the all-port model, one-port schedules are included. On star graphs, collectives with a root
    are executed from two roots.

    Args:
        check: provides the topology, and builds the schedules.
        collective: the name of the collective.
        ports: the port model, ``all`` or ``one``.
        messages: the number of messages per source (broadcast, allgather), per destination
            (scatter), or per pair of source and destination (alltoall).
        copies: the number of copies of each message.
    """
    if check.topology.family == "hypercube":
        yield from unit_schedules_on_cube(check, collective, ports, messages, copies)
        return
    for kind, model, algorithm, names in _ON_STARS:
        if kind != collective or (ports == "one" and model != "one"):
            continue
        if (copies > 1 and "copies" not in names) or (messages > 1 and not names):
            continue
        if algorithm == _MULTIPLES_ONLY and (messages % check.degree or check.degree < 2):
            continue
        given = {"segments": messages, "messages": messages, "copies": copies}
        for root in (0, check.nodes - 1) if collective in _ROOTED else (0,):
            arguments = {name: given[name] for name in names}
            yield check.schedule(collective, algorithm, ports=model, root=root, **arguments)


def check_not_beaten(
    check: ClaimCheck, schedules: Iterable[Schedule], stated: Number, unit: str, **place: int
) -> None:
    """Check that no schedule takes fewer steps or transmissions than the stated lower bound.

    The argument ``unit`` is ``steps`` or ``transmissions``. If the keyword argument ``x`` is given,
    also check that every schedule delivers x copies of each message.
    """
    for schedule in schedules:
        measured = getattr(check.execute(schedule), unit)
        if "x" in place:
            what = f"{schedule.algorithm} delivers x copies"
            check.true(what, delivers_copies(schedule, place["x"]), **place, of=schedule)
        check.at_least(f"{unit} of {schedule.algorithm}", measured, stated, **place, of=schedule)


def check_times(
    check: ClaimCheck, schedules: Iterable[Schedule], start_ups: int, share: Number
) -> None:
    """Check that no schedule takes less time than a lower bound.

    For the start-up time T_s and messages of m bytes, which have the transmission time m T_c, the
    bound is max{``start_ups`` T_s, ``share`` m T_c}.

    Args:
        check: records the results.
        schedules: the schedules to compare with the bound.
        start_ups: the minimum number of consecutive start-ups.
        share: the minimum number of messages that some link must carry (a fraction if messages are
            split among links).
    """
    bound = [max(start_ups * T_s, Fraction(share) * b) for T_s, b in BOUND_GRID.each()]
    stated = np.array(bound, dtype=object)
    for schedule in schedules:
        time = BOUND_GRID.time_of(Execution(schedule, check.execute(schedule)))
        what = f"time of {schedule.algorithm}"
        check.at_least(what, time, stated, of=schedule, **BOUND_GRID.place)


def delivers_copies(schedule: Schedule, copies: int) -> bool:
    """Return whether every message reaches each of its destinations at least ``copies`` times."""
    nodes, units = schedule.topology.nodes, schedule.units
    if schedule.collective in ("broadcast", "allgather"):
        place = schedule.receiver.astype(np.int64) * units + schedule.unit
        reached = np.bincount(place, minlength=nodes * units).reshape(nodes, units)
    else:
        arrived = schedule.unit[schedule.receiver == schedule.unit // (units // nodes)]
        reached = np.bincount(arrived, minlength=units).reshape(nodes, -1)
    return bool((np.delete(reached, schedule.root, axis=0) >= copies).all())


# Hypercube schedules in which every message is a single unit, for comparison with lower bounds
#
# Fragopoulou & Akl describe the schedules below, which use the trees of Johnsson & Ho. Of these
# schedules, the catalogue contains only the broadcasts; the simulator verifies the others like any
# other schedule. The copies of units are distributed round robin over the k edge-disjoint trees, so
# that the copies of one unit use different trees.


_TREES = "edge-disjoint-binomial"
_TREE = "binomial"


def unit_schedules_on_cube(
    check: ClaimCheck, collective: str, ports: str = "all", messages: int = 1, copies: int = 1
) -> Iterator[Schedule]:
    """Yield hypercube schedules in which every message is one unit; see `unit_schedules`."""
    if collective == "broadcast":
        yield check.schedule(collective, _TREES, messages=messages, copies=copies)
        if copies == 1:
            yield check.schedule(collective, _TREE, segments=messages)
        return
    if copies == messages == 1:
        alone = {
            "allgather": (_gray_code_allgather, _growing_allgather),
            "scatter": (_binomial_scatter,),
            "alltoall": (_one_port_alltoall, _all_port_alltoall),
        }
        for make in alone[collective][: 1 if ports == "one" else 2]:
            yield check.build(partial(make, check), f"{collective} {make.__name__}")
    if ports == "all":
        copied = {
            "allgather": _allgather_in_copies,
            "scatter": _scatter_in_copies,
            "alltoall": _alltoall_in_copies,
        }[collective]
        create = partial(copied, check, messages, copies)
        yield check.build(create, f"{collective} in copies", messages, copies)


class _Copy(NamedTuple):
    """A copy of a message: the message, the tree, and the position among the copies in the tree."""

    message: int
    tree: int
    turn: int


def _assign_copies(degree: int, messages: int, copies: int) -> list[_Copy]:
    numbers = range(messages * copies)
    return [_Copy(copy // copies, copy % degree, copy // degree) for copy in numbers]


def _schedule(
    check: ClaimCheck,
    collective: str,
    rows: Columns,
    messages: int = 1,
    *,
    algorithm: str,
    ports: str = "all",
    forest: Forest | None = None,
) -> Schedule:
    """Build a hypercube schedule from its rows; each message is a single unit."""
    units = messages * (1 if collective == "allgather" else check.nodes)
    draft = Draft(rows, units, forest, symmetric=collective != "scatter")
    return draft.complete(check.topology, collective, algorithm, ports)


def _columns(check: ClaimCheck, rows: list[tuple[int, int, int, int]]) -> Columns:
    """Convert rows (step, sender, port, unit) to columns."""
    step, sender, port, unit = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    receiver = sender ^ (1 << (check.n - port))
    return Columns(step, sender, port, receiver, np.zeros_like(step), unit)


# Collectives with a single message per source or destination


def _gray_code_allgather(check: ClaimCheck) -> Schedule:
    """Return a one-port allgather on the hypercube Q_k along the Gray code, a Hamiltonian path.

    The allgather takes 2^k - 1 steps.
    """
    rows = []
    at = 0
    for step in range(1, check.nodes):
        # Step s of the Gray code flips the node's bit at the position of the lowest set bit of s.
        port = check.n - ((step & -step).bit_length() - 1)
        rows.append((step, at, port, 0))
        at ^= 1 << (check.n - port)
    return _schedule(check, "allgather", _columns(check, rows), algorithm="gray-code", ports="one")


def _growing_allgather(check: ClaimCheck) -> Schedule:
    """Return an all-port allgather that delivers each message to one new node per port and step.

    In each step, a port can deliver the message to each node whose neighbour over this port already
    has the message. Of these nodes, the node nearest to the source is chosen. If there is no such
    node, the port is idle.
    """
    rows = []
    since = {0: 0}
    for step in count(1):
        if len(since) == check.nodes:
            break
        for port in check.ports:
            bit = 1 << (check.n - port)
            # A node can forward the message only in a step after the message has arrived.
            before = [node ^ bit for node, when in since.items() if when < step]
            near = [node for node in before if node not in since]
            if near:
                node = min(near, key=lambda node: (node.bit_count(), node))
                rows.append((step, node ^ bit, port, 0))
                since[node] = step
    return _schedule(check, "allgather", _columns(check, rows), algorithm="grown")


def _binomial_scatter(check: ClaimCheck) -> Schedule:
    """Return a one-port scatter along the binomial tree of Q_k, to the deepest nodes first.

    The scatter takes 2^k - 1 steps.
    """
    forest = check.forest(_TREE)
    # The slice removes the root, which comes last because its level is the smallest.
    node = np.argsort(-_levels(check, forest), kind="stable")[:-1]
    rows = route_units(forest, np.zeros_like(node), node, np.arange(1, len(node) + 1), node)
    return _schedule(check, "scatter", rows, algorithm="one-port", ports="one", forest=forest)


def _one_port_alltoall(check: ClaimCheck) -> Schedule:
    """Return a one-port alltoall on the hypercube Q_k in k 2^(k-1) steps.

    In each step, all nodes send over the same port. All units that are in transit at the same time
    have the same exclusive or (XOR) of source and destination.
    """
    forest = check.forest(_TREE)
    rows = _send_one_by_one(check, forest, 1, 1)
    return _schedule(check, "alltoall", rows, algorithm="one-port", ports="one", forest=forest)


def _all_port_alltoall(check: ClaimCheck) -> Schedule:
    """Return an all-port alltoall on the hypercube Q_k.

    In each step, the ports choose units one after the other. Among the units that still have to
    cross the port's dimension, each port chooses the unit with the longest remaining path. A unit
    that another port has chosen in this step is not available.
    """
    rows = []
    left = {node: node for node in range(1, check.nodes)}

    def waiting(port: int) -> int:
        return sum(bits >> (check.n - port) & 1 for bits in left.values())

    for step in count(1):
        if not left:
            break
        moving: set[int] = set()
        # The port with the fewest candidate units chooses first, since others may take its units.
        for port in sorted(check.ports, key=waiting):
            bit = 1 << (check.n - port)
            able = [unit for unit, bits in left.items() if bits & bit and unit not in moving]
            if able:
                unit = max(able, key=lambda unit: (left[unit].bit_count(), -unit))
                rows.append((step, unit ^ left[unit], port, unit))
                left[unit] ^= bit
                moving.add(unit)
        left = {unit: bits for unit, bits in left.items() if bits}
    return _schedule(check, "alltoall", _columns(check, rows), algorithm="packed")


# Collectives that send each of M messages in x copies, along the edge-disjoint trees of Q_k


def _rotate_nodes(check: ClaimCheck, tree: int) -> NDArray[np.int64]:
    """Return the image of each hypercube node when labels are rotated right by ``tree`` positions.

    The rotation maps port 1 to port tree + 1.
    """
    nodes = np.arange(check.nodes)
    return (nodes >> tree) | ((nodes << (check.n - tree)) & (check.nodes - 1))


def _levels(check: ClaimCheck, forest: Forest) -> NDArray[np.int64]:
    """Return each node's level in the first tree of a forest on a hypercube.

    In a forest of edge-disjoint trees, the other trees are rotations of the first.
    """
    above = check.parents(forest.parent_port[0])
    return tree_levels(above, forest.root).astype(np.int64)


def _allgather_in_copies(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    """Return an allgather that sends each message in copies along the edge-disjoint trees of Q_k.

    Each tree carries one message at a time, level by level and over one link per step.
    """
    forest = check.forest(_TREES)
    order = np.argsort(_levels(check, forest), kind="stable")[1:]
    parts = []
    for message, tree, turn in _assign_copies(check.degree, messages, copies):
        node = _rotate_nodes(check, tree)[order]
        port = forest.parent_port[tree, node].astype(np.int64)
        same = np.full(len(node), 1)
        step = np.arange(1, len(node) + 1) + turn * len(node)
        sender = node ^ (1 << (check.n - port))
        parts.append(Columns(step, sender, port, node, same * tree, same * message))
    rows = concatenate_rows(parts)
    return _schedule(check, "allgather", rows, messages, algorithm="edge-disjoint", forest=forest)


def _scatter_in_copies(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    """Return a scatter that sends each message in copies along the edge-disjoint trees of Q_k.

    In each tree, the root sends one unit per step, to the deepest nodes first. The copies of a unit
    use different trees.
    """
    forest = check.forest(_TREES)
    levels = check.depths(forest.parent_port, forest.root).astype(np.int64)
    copy, node = np.divmod(np.arange(messages * copies * check.nodes), check.nodes)
    copy, node = copy[node > 0], node[node > 0]
    tree = (copy + node * messages * copies) % check.degree
    order = np.lexsort((copy, node, -levels[tree, node], tree))
    copy, node, tree = copy[order], node[order], tree[order]
    step = np.arange(len(tree)) - np.searchsorted(tree, tree) + 1
    rows = route_units(forest, tree, node, step, node * messages + copy // copies)
    return _schedule(check, "scatter", rows, messages, algorithm="edge-disjoint", forest=forest)


def _alltoall_in_copies(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    """Return an alltoall that sends each message in copies along the edge-disjoint trees of Q_k.

    Each tree carries one unit per source at a time. For every h, the h-th destination of a tree is
    a rotation of the h-th destination of the first tree.
    """
    forest = check.forest(_TREES)
    rows = _send_one_by_one(check, forest, messages, copies)
    return _schedule(check, "alltoall", rows, messages, algorithm="edge-disjoint", forest=forest)


def _send_one_by_one(check: ClaimCheck, forest: Forest, messages: int, copies: int) -> Columns:
    """Return the rows of an alltoall in which each tree carries one unit per source at a time."""
    level = _levels(check, forest)[1:]
    begins = np.cumsum(level) - level + 1
    parts = []
    for message, tree, turn in _assign_copies(check.degree, messages, copies):
        node = _rotate_nodes(check, tree)[1:]
        trees = np.full(len(node), tree)
        step = begins + turn * int(level.sum())
        parts.append(route_units(forest, trees, node, step, node * messages + message))
    return concatenate_rows(parts)
