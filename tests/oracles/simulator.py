"""A simulator for all collectives that applies the rules of conventions.md step by step.

It uses dictionaries. Nodes are labels, and units are the numbers in a schedule's column ``unit``.
Rows with senders or receivers that are not in the topology are accepted and reported as violations.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from oracles import hypercube, nk_star
from oracles.reductions import REDUCTIONS, Sums
from oracles.schedule_rows import Row
from oracles.star_graph import compose, label

#: The first step in which each faulty node or link is down. A key contains one dead node, or both
#: ends of a dead link.
Faults = Mapping[frozenset[str], int]
NO_FAULTS: Faults = {}


@dataclass(frozen=True)
class World:
    """A topology in terms of labels.

    ``across`` maps each node and port to the neighbour. ``translations`` maps each node q to the
    automorphism that maps the identity to q. ``capacities`` and ``latencies`` map directed links to
    their values; the defaults are 1 and 0. ``switches`` are the nodes that only forward.
    """

    nodes: list[str]
    across: dict[tuple[str, int], str]
    translations: dict[str, dict[str, str]]
    keeps_ports: bool = True
    capacities: Mapping[tuple[str, int], int] = field(default_factory=dict)
    latencies: Mapping[tuple[str, int], int] = field(default_factory=dict)
    switches: frozenset[str] = frozenset()

    @property
    def endpoints(self) -> list[str]:
        """The nodes that are not switches."""
        return [node for node in self.nodes if node not in self.switches]

    def port(self, start: str, other: str) -> int:
        """Return the port of ``start`` that leads to its neighbour ``other``."""
        (port,) = [
            port for (node, port), across in self.across.items() if (node, across) == (start, other)
        ]
        return port


@cache
def world(spec: str) -> World:
    """Return the topology with the given name, such as ``S4``, ``S4,2`` or ``Q3``."""
    if spec.startswith("Q"):
        d = int(spec[1:])
        bits = hypercube.nodes(d)
        across = {(x, i): hypercube.flip(x, i) for x in bits for i in range(1, d + 1)}
        return World(bits, across, {q: {x: hypercube.xor(x, q) for x in bits} for q in bits})
    n, _, k = spec[1:].partition(",")
    stars = nk_star.nodes(int(n), int(k or n))
    across = {
        (label(x), port): label(nk_star.across(x, port, int(n)))
        for x in stars
        for port in range(2, int(n) + 1)
    }
    extended = {q: nk_star.extension(q, int(n)) for q in stars}
    translations = {
        label(q): {label(x): label(compose(extended[q], x)) for x in stars} for q in stars
    }
    return World(
        [label(x) for x in stars],
        across,
        translations,
        keeps_ports=not k or int(k) == int(n) - 1,
    )


@dataclass(frozen=True)
class Plan:
    """A schedule: its collective, root, number of units, port model and rows."""

    world: World
    collective: str
    root: str
    units: int
    one_port: bool
    packets: bool
    rows: Sequence[Row]
    symmetric: bool = False

    def messages(self) -> Iterator[tuple[int, str, str | None]]:
        """Yield every unit in order, with its source and its destination (None for all nodes).

        The units of a reduction come from all endpoints, so their source is an empty string.
        """
        nodes, root = self.world.endpoints, self.root
        halves = {"allgather": "broadcast", "alltoall": "scatter", "reduce-scatter": "reduce"}
        kind = halves.get(self.collective, self.collective) if self.symmetric else self.collective
        pairs: list[tuple[str, str | None]]
        match kind:
            case "broadcast":
                pairs = [(root, None)]
            case "allgather":
                pairs = [(source, None) for source in nodes]
            case "scatter":
                pairs = [(root, destination) for destination in nodes]
            case "gather":
                pairs = [(source, root) for source in nodes]
            case "reduce":
                pairs = [("", root)]
            case "reduce-scatter":
                pairs = [("", destination) for destination in nodes]
            case "allreduce":
                pairs = [("", None)]
            case _:
                pairs = [(source, destination) for source in nodes for destination in nodes]
        each = self.units // len(pairs)
        return ((place * each + i, *pair) for place, pair in enumerate(pairs) for i in range(each))


@dataclass
class Outcome:
    """Simulation results: the violations in the first invalid step, and counts of earlier steps.

    ``broken`` has the rows that violate a rule, and ``rules`` the violated rule of each.
    """

    broken: list[Row] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    moved: list[Row] = field(default_factory=list)
    missing: set[tuple[str, int]] = field(default_factory=set)
    transmissions: int = 0
    links_used: list[int] = field(default_factory=list)
    packet_sizes: list[int] = field(default_factory=list)


def execute(plan: Plan, faults: Faults = NO_FAULTS) -> Outcome:
    """Execute a plan step by step up to the first violation.

    Under faults, a row is dropped if its link or an end is down, or if its sender lacks the unit.
    """
    if plan.collective in REDUCTIONS:
        return execute_reduction(plan, faults)
    outcome, messages = Outcome(), list(plan.messages())
    holds: dict[str, set[int]] = {node: set() for node in plan.world.nodes}
    for unit, source, _ in messages:
        holds[source].add(unit)
    for step in sorted({row.step for row in plan.rows}):
        now = [row for row in plan.rows if row.step == step]
        outcome.broken, outcome.rules = broken_rows(plan, now, None if faults else holds)
        if outcome.broken:
            break
        if faults:
            now = [row for row in now if is_up(row, faults) and row.unit in holds[row.sender]]
        for row in now:
            holds[row.receiver].add(row.unit)
        outcome.moved += now
    dead = {node for node in plan.world.nodes if frozenset([node]) in faults}
    voided = dead if plan.collective in ("allgather", "gather", "alltoall") else set()
    for unit, source, destination in messages:
        required = plan.world.endpoints if destination is None else [destination]
        outcome.missing |= {
            (node, unit)
            for node in required
            if node not in dead and source not in voided and unit not in holds[node]
        }
    count(outcome)
    return outcome


def execute_reduction(plan: Plan, faults: Faults) -> Outcome:
    """Execute a reduction, tracking which contributions each node has.

    Contributions that are counted twice are determined as if there were no faults. Rows that pass
    on an incomplete unit, or the empty sum of a switch, are violations without faults, and are
    dropped under faults.
    """
    outcome, nodes = Outcome(), plan.world.endpoints
    alive = [node for node in nodes if frozenset([node]) not in faults]
    ideal, sums = Sums(nodes, nodes), Sums(nodes, alive)
    for step in sorted({row.step for row in plan.rows}):
        now = sorted((row for row in plan.rows if row.step == step), key=order_in_step(plan))
        outcome.broken, outcome.rules = broken_rows(plan, now, None)
        twice = ideal.execute(now)
        valid = [row for row in now if sums.may_send(row)]
        early = [] if faults else [row for row in now if row not in valid]
        outcome.broken += twice + early
        outcome.rules += ["counted twice"] * len(twice) + ["incomplete"] * len(early)
        if outcome.broken:
            break
        moved = [row for row in valid if is_up(row, faults)]
        sums.execute(moved)
        outcome.moved += moved
    for unit, _, destination in plan.messages():
        required = nodes if destination is None else [destination]
        outcome.missing |= {
            (node, unit) for node in required if node in alive and not sums.is_complete(node, unit)
        }
    count(outcome)
    return outcome


def order_in_step(plan: Plan) -> Callable[[Row], tuple[object, ...]]:
    """Return the key that sorts the rows of a step by sender, port, tree and unit."""
    rank = {node: number for number, node in enumerate(plan.world.nodes)}
    return lambda row: (rank.get(row.sender, -1), row.port, row.tree, row.unit)


def is_up(row: Row, faults: Faults) -> bool:
    """Return whether both ends and the link itself are up in the row's step."""
    what = ([row.sender], [row.receiver], [row.sender, row.receiver])
    return all(row.step < faults.get(frozenset(each), row.step + 1) for each in what)


def broken_rows(
    plan: Plan, now: Collection[Row], holds: Mapping[str, set[int]] | None
) -> tuple[list[Row], list[str]]:
    """Return the rows of a step that violate a rule, and the rule that each violates.

    A row occurs once for every rule that it violates. If ``holds`` is None, it is not checked
    whether senders hold their units.
    """
    times, result = Counter(now), list[tuple[Row, str]]()
    link = Counter((row.sender, row.port) for row in now)
    switches = plan.world.switches
    for row in now:
        exists = (row.sender, row.port) in plan.world.across
        ports = {other.port for other in now if other.sender == row.sender}
        senders = {other.sender for other in now if other.receiver == row.receiver}
        capacity = plan.world.capacities.get((row.sender, row.port), 1)
        held = holds is None or row.unit in holds.get(row.sender, ())
        rules = {
            "no such step": row.step < 1,
            "no such sender or port": not exists,
            "another receiver": exists and plan.world.across[row.sender, row.port] != row.receiver,
            "no such unit": not 0 <= row.unit < plan.units,
            "not held": not held,
            "too many units on a link": not plan.packets and link[row.sender, row.port] > capacity,
            "the same row twice": times[row] > 1,
            "two sends": plan.one_port and len(ports) > 1 and row.sender not in switches,
            "two receipts": plan.one_port and len(senders) > 1 and row.receiver not in switches,
        }
        result += [(row, rule) for rule, breaks in rules.items() if breaks]
    return [row for row, _ in result], [rule for _, rule in result]


def count(outcome: Outcome) -> None:
    """Set the outcome's transmissions, and the links used and largest packet of each step."""
    last = max((row.step for row in outcome.moved), default=0)
    outcome.transmissions = len(outcome.moved)
    packets = Counter((row.step, row.sender, row.port) for row in outcome.moved)
    for step in range(1, last + 1):
        sizes = [size for (of, _, _), size in packets.items() if of == step]
        outcome.links_used.append(len(sizes))
        outcome.packet_sizes.append(max(sizes, default=0))


def expanded(plan: Plan) -> Plan:
    """Return the plan of all sources, by translating the rows of one source.

    Invalid rows are dropped, since `execute_all` reports them for the plan of one source.
    """
    topology, nodes, rows = plan.world, plan.world.nodes, list[Row]()
    own = topology.translations[plan.root]
    home = {image: node for node, image in own.items()}
    for number, source in enumerate(nodes):
        image = {node: topology.translations[source][home[node]] for node in nodes}
        for row in plan.rows:
            if is_addressed(plan, row):
                rows.append(translated(plan, row, image, number))
    return replace(plan, units=plan.units * len(nodes), rows=rows, symmetric=False)


def is_addressed(plan: Plan, row: Row) -> bool:
    """Return whether a row's step, link and unit exist, and its receiver is the link's end."""
    return (
        plan.world.across.get((row.sender, row.port)) == row.receiver
        and 0 <= row.unit < plan.units
        and row.step > 0
    )


def translated(plan: Plan, row: Row, image: Mapping[str, str], source: int) -> Row:
    """Return the row of source number ``source`` that corresponds to a row of the root.

    ``image`` is the automorphism that maps the plan's root to the source.
    """
    nodes = plan.world.nodes
    sender, receiver, unit = image[row.sender], image[row.receiver], row.unit
    if plan.collective == "alltoall":
        each = plan.units // len(nodes)
        destination = image[nodes[unit // each]]
        unit = nodes.index(destination) * each + unit % each
    port = row.port if plan.world.keeps_ports else plan.world.port(sender, receiver)
    return Row(row.step, sender, port, receiver, row.tree, source * plan.units + unit, row.combine)


def execute_all(plan: Plan, faults: Faults = NO_FAULTS) -> Outcome:
    """Execute a plan for all sources, up to the first step that violates a rule."""
    if not plan.symmetric:
        return execute(plan, faults)
    wrong = [row for row in plan.rows if not is_addressed(plan, row)]
    first = min((row.step for row in wrong), default=None)
    extended = expanded(plan)
    sound = [row for row in extended.rows if first is None or row.step <= first]
    outcome = execute(replace(extended, rows=sound), faults)
    if first is None or (outcome.broken and outcome.broken[0].step < first):
        return outcome
    earlier = [row for row in sound if row.step < first]
    before = execute(replace(extended, rows=earlier), faults)
    before.broken = [row for row in wrong if row.step == first] + outcome.broken
    return before


def acknowledged(
    rows: Iterable[tuple[str, Row]], faults: Faults
) -> tuple[set[Row], dict[tuple[str, int], int]]:
    """Return the rows that are attempted, and the completed hops of each traversal that stalls.

    As in section 4.4 of Fragopoulou & Akl 1996, a node sends the units to a child, waits for an
    acknowledgement, and then continues with the next child. ``rows`` are pairs of a source and a
    row. A traversal is identified by its source and tree.
    """
    walks: dict[tuple[str, int], list[Row]] = {}
    for source, row in sorted(rows, key=lambda start: start[1].step):
        walks.setdefault((source, row.tree), []).append(row)
    tried, stalled = set[Row](), dict[tuple[str, int], int]()
    for (source, tree), own in walks.items():
        walk = Walk(own, faults)
        if not walk.served(source):
            stalled[source, tree] = walk.completed
        tried |= walk.tried
    return tried, stalled


class Walk:
    """The traversal of one tree by one source; ``clock`` is the step of the last attempted row."""

    def __init__(self, rows: Iterable[Row], faults: Faults) -> None:
        self.faults = faults
        self.completed = 0
        self.clock = 0
        self.tried: set[Row] = set()
        self.children: dict[str, dict[str, list[Row]]] = {}
        for row in rows:
            self.children.setdefault(row.sender, {}).setdefault(row.receiver, []).append(row)

    def served(self, node: str) -> bool:
        """Send to the children of a node one after the other; return whether all acknowledge."""
        for child, group in self.children.get(node, {}).items():
            self.tried |= set(group)
            self.clock = group[-1].step
            if not all(is_up(row, self.faults) for row in group):
                return False
            self.completed += 1
            if not self.served(child):
                return False
            if not is_up(Row(self.clock, child, 0, node, 0, 0), self.faults):
                return False
        return True
