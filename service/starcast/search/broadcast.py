"""Fewest one-port rounds of a broadcast: each informed node informs one neighbour per round.

Two ideas find schedules. *Matchings*: every round is a maximum matching of informed with uninformed
nodes, random where there is a choice. *Formulas*: a solver decides about all rounds, about the last
few after matched rounds, or about schedules that a translation maps to themselves. A refuted
formula of all rounds is a lower bound; the first one is by counting (Liestman & Peters 1988).
"""

import random
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.catalogue import algorithms_on, schedule
from starcast.collectives.model import Schedule
from starcast.records import Witness
from starcast.search.engines import Budget, solve
from starcast.search.formula import Formula, require_fit
from starcast.search.problem import (
    OPEN,
    Decision,
    Method,
    SearchProblem,
    TheoryBound,
)
from starcast.topologies import Topology

Neighbours = NDArray[np.int64]

#: Nodes up to which rounds are matched, and starts of the random matchings.
_MOST_NODES = 50_000
_STARTS = 100
#: Most random matchings of which the best is completed by a formula.
_TRIES = 10
#: Shares of the remaining time for these matchings, and for each completion.
_MATCHING, _COMPLETION = 0.2, 0.3


def counting_bound(nodes: int, degree: int) -> int:
    """Return the least number of rounds in which a broadcast can reach a number of nodes.

    A node informs at most ``degree`` others, and all but the root one fewer, since the neighbour
    that informed it knows already. Hence the root sends in the first ``degree`` rounds, and every
    other node in the ``degree - 1`` rounds after it was informed.
    """
    informed = [1]  # by round; the root in round 0
    while sum(informed) < nodes:
        now = len(informed)
        senders = sum(informed[max(now - degree + 1, 1) :])
        informed.append(senders + (now <= degree))
        if informed[-1] == 0:
            break
    return len(informed) - 1


def _bound(graph: Topology) -> TheoryBound:
    counted = counting_bound(graph.nodes, graph.degree)
    if graph.diameter > counted:
        return TheoryBound(graph.diameter, "the diameter")
    return TheoryBound(
        counted,
        f"in each round at most the nodes informed in the {graph.degree - 1} rounds before can "
        f"inform another (counting, degree {graph.degree}; Liestman & Peters 1988)",
    )


def _catalogue(graph: Topology) -> list[Schedule]:
    """Return the one-port broadcasts of the catalogue, but not that of a record."""
    return [
        schedule(graph, "broadcast", algorithm.name, "one")
        for algorithm in algorithms_on(graph, "broadcast")
        if "one" in algorithm.ports and algorithm.name != "optimal"
    ]


def _table(graph: Topology) -> Neighbours:
    """Return the neighbours, int64 ``[nodes, ports]``."""
    return np.ascontiguousarray(graph.table().T.astype(np.int64))


def _start(graph: Topology, budget: Budget) -> Witness:
    """Return matched rounds; on large topologies the best broadcast of the catalogue, if any."""
    if not _is_small(graph):
        schedules = [each for each in _catalogue(graph) if each.units == 1]
        if schedules:
            return _from_schedule(graph, min(schedules, key=lambda each: each.steps))
    chance = random.Random(budget.seed)  # noqa: S311 - not a secret
    return _as_witness(graph, *_matched_rounds(graph, chance))


def _is_small(graph: Topology) -> bool:
    """Return whether rounds can be matched in seconds or minutes."""
    return graph.nodes <= _MOST_NODES


def _from_schedule(graph: Topology, broadcast: Schedule) -> Witness:
    """Return the witness of a schedule that sends one unit to each node once."""
    informer = np.zeros(graph.nodes, dtype=np.int64)
    rounds = np.zeros(graph.nodes, dtype=np.int64)
    informer[broadcast.receiver] = broadcast.sender
    rounds[broadcast.receiver] = broadcast.step
    return _as_witness(graph, informer, rounds)


def _matched_rounds(graph: Topology, chance: random.Random) -> tuple[Neighbours, Neighbours]:
    """Inform, in each round, as many nodes as possible, and those with most to inform first.

    Returns:
        The node that informs each node, and the round in which it does.
    """
    table = _table(graph)
    informer = np.full(graph.nodes, -1)
    rounds = np.zeros(graph.nodes, dtype=np.int64)
    informer[0], now = 0, 0
    noise = chance.choice((0.1, 0.5, 1.0))
    while (informer < 0).any():
        now += 1
        is_new = informer < 0
        ahead = is_new[table].sum(axis=1)
        # Count also the nodes two links away, which the next rounds need.
        weight = ahead + ahead[table].sum(axis=1) / (4 * graph.degree)
        receivers = np.flatnonzero(is_new & (~is_new)[table].any(axis=1))
        weight = weight[receivers] + noise * np.array([chance.random() for _ in receivers])
        matched = _match(table, ~is_new, receivers[np.argsort(-weight)].tolist())
        for sender, receiver in matched.items():
            informer[receiver], rounds[receiver] = sender, now
    return informer, rounds


def _match(table: Neighbours, can_send: NDArray[np.bool_], receivers: list[int]) -> dict[int, int]:
    """Match receivers with senders; earlier receivers keep a match, though perhaps another sender.

    The sets of receivers that can be matched are a matroid, so that this greedy order gives a
    maximum matching (Edmonds & Fulkerson 1965).
    """
    receiver_of: dict[int, int] = {}
    choices = {receiver: [int(s) for s in table[receiver] if can_send[s]] for receiver in receivers}
    for receiver in receivers:
        _augment(receiver, choices, receiver_of)
    return receiver_of


def _augment(receiver: int, choices: dict[int, list[int]], receiver_of: dict[int, int]) -> bool:
    """Find an alternating path by breadth-first search, and exchange along it."""
    reached_from: dict[int, int] = {}
    front = [receiver]
    while front:
        following: list[int] = []
        for node in front:
            for sender in choices[node]:
                if sender in reached_from:
                    continue
                reached_from[sender] = node
                if sender not in receiver_of:
                    _exchange(sender, receiver, reached_from, receiver_of)
                    return True
                following.append(receiver_of[sender])
        front = following
    return False


def _exchange(
    sender: int, start: int, reached_from: dict[int, int], receiver_of: dict[int, int]
) -> None:
    """Give each receiver on the path that ends at a free sender the sender after it."""
    sender_of = {receiver: each for each, receiver in receiver_of.items()}
    while True:
        node = reached_from[sender]
        receiver_of[sender] = node
        if node == start:
            return
        sender = sender_of[node]


def _match_rounds(graph: Topology, target: int, budget: Budget) -> Decision:
    """Repeat the matched rounds with other random choices."""
    best: Witness | None = None
    for seed in range(budget.seed, budget.seed + _STARTS):
        chance = random.Random(seed)  # noqa: S311 - not a secret
        witness = _as_witness(graph, *_matched_rounds(graph, chance))
        if best is None or witness["round"].max() < best["round"].max():
            best = witness
        if int(best["round"].max()) <= target or budget.left <= 0:
            break
    return OPEN if best is None else Decision("witness", best)


def _complete_rounds(graph: Topology, target: int, budget: Budget) -> Decision:
    """Match all rounds but the last few, at random, and let a formula decide about those."""
    seed = budget.seed
    while budget.left > 0:
        starts: list[tuple[Neighbours, Neighbours]] = []
        limit = budget.part(_MATCHING)
        while len(starts) < _TRIES and (limit.left > 0 or not starts):
            starts.append(_matched_rounds(graph, random.Random(seed)))  # noqa: S311 - not a secret
            seed += 1
        # The start that informs most nodes in time is the most promising.
        informer, rounds = max(starts, key=lambda each: int(np.sum(each[1] <= target)))
        for count in (3, 4, 2):
            found = _complete(graph, informer, rounds, target, count, budget.part(_COMPLETION))
            if found is not None:
                return Decision("witness", found)
    return OPEN


def _complete(
    graph: Topology,
    informer: Neighbours,
    rounds: Neighbours,
    target: int,
    count: int,
    budget: Budget,
) -> Witness | None:
    """Return a broadcast that differs in its last rounds only, ``count`` of them, or None."""
    last = target - count
    subject = f"a broadcast on {graph.spec} from round {last}"
    if last < 0:
        return None
    open_nodes = int(np.sum(rounds > last))
    require_fit(open_nodes * count * graph.degree * 8, budget.memory, subject)
    formula, sends = _formula_of_last_rounds(graph, rounds, last, target)
    status, values = solve(formula, budget, subject)
    if status != "satisfiable" or values is None:
        return None
    is_known = rounds <= last
    return _read_schedule(
        graph, values[sends], np.where(is_known, informer, -1), np.where(is_known, rounds, 0)
    )


class _Variables(NamedTuple):
    """The variables of a schedule by node; 0 where a value is known, so that there is no variable.

    Attributes:
        table: the neighbours, int64 ``[nodes, ports]``.
        back: the index of the port by which each neighbour reaches the node, as ``table``.
        informed: the node is informed after a round, int32 ``[nodes, rounds + 1]``.
        sends: the node sends over a port in a round, int32 ``[nodes, ports, rounds + 1]``.
    """

    table: Neighbours
    back: Neighbours
    informed: NDArray[np.int32]
    sends: NDArray[np.int32]

    @classmethod
    def of(
        cls, graph: Topology, informed: NDArray[np.int32], sends: NDArray[np.int32]
    ) -> "_Variables":
        """Return the variables on a topology."""
        table = _table(graph)
        back = np.argmax(table[table] == np.arange(graph.nodes)[:, None, None], axis=2)
        return cls(table, back, informed, sends)

    def add_round(self, formula: Formula, node: int, now: int) -> None:
        """Add what a schedule requires of a node in a round."""
        own = self.sends[node, :, now]
        own = own[own > 0].tolist()
        formula.at_most_one(own)
        if not self.informed[node, now]:
            return  # the node is known to be informed
        before = self.informed[node, now - 1]
        for each in own:
            formula.add(-each, before)
        causes = np.array([before, *self.sends[self.table[node], self.back[node], now]])
        formula.add(-self.informed[node, now], *causes[causes > 0])


def _formula_of_last_rounds(
    graph: Topology, rounds: Neighbours, last: int, target: int
) -> tuple[Formula, NDArray[np.int32]]:
    """Return the formula that all nodes without the message after a round get it in time.

    Returns:
        The formula; ``sends`` [nodes, ports, rounds + 1], 0 without a variable.
    """
    formula = Formula()
    is_open = rounds > last
    open_nodes = np.flatnonzero(is_open)
    informed = np.zeros((graph.nodes, target + 1), dtype=np.int32)
    sends = np.zeros((graph.nodes, graph.degree, target + 1), dtype=np.int32)
    variables = _Variables.of(graph, informed, sends)
    informed[open_nodes, last + 1 :] = formula.new(len(open_nodes), target - last)
    for now in range(last + 1, target + 1):
        # Only open nodes receive, and in the first of the rounds only the others send.
        is_used = is_open[variables.table]
        if now == last + 1:
            is_used &= ~is_open[:, None]
        sends[is_used, now] = formula.new(int(is_used.sum()))
    for now in range(last + 1, target + 1):
        for node in range(graph.nodes):
            variables.add_round(formula, node, now)
    for literal in informed[open_nodes, target]:
        formula.add(literal)
    return formula, sends


def _formula(
    graph: Topology, target: int, images: NDArray[np.int64] | None
) -> tuple[Formula, NDArray[np.int32]]:
    """Return the formula of all rounds.

    With the images of a translation of order two, whose image of the root is a neighbour of the
    root, the schedule after round 1 has to be mapped to itself. In round 1 the root informs this
    neighbour; a node and its image have the same variables, so that one of them is enough.

    Returns:
        The formula; ``sends`` [nodes, ports, rounds + 1].
    """
    distances = graph.distances(0)
    formula = Formula()
    informed = formula.new(graph.nodes, target + 1)
    sends = formula.new(graph.nodes, graph.degree, target + 1)
    variables = _Variables.of(graph, informed, sends)
    if images is not None:
        _identify(variables, images)
    for node in range(graph.nodes) if images is None else _least(images):
        for now in range(target + 1):
            if node == 0 and (now > 0 or images is None):
                formula.add(informed[node, now])
            elif now < distances[node] or now == 0:
                formula.add(-informed[node, now])
        if node > 0:
            formula.add(informed[node, target])
        for now in range(1, target + 1):
            if images is None or now > 1:
                variables.add_round(formula, node, now)
                continue
            for literal in sends[node, :, now]:
                formula.add(-literal)
    return formula, sends


def _least(images: NDArray[np.int64]) -> list[int]:
    return np.flatnonzero(np.arange(len(images)) < images).tolist()


def _identify(variables: _Variables, images: NDArray[np.int64]) -> None:
    """Give a node and its image the same variables."""
    table, _, informed, sends = variables
    for node in _least(images):
        image = images[node]
        informed[image] = informed[node]
        for port, neighbour in enumerate(images[table[node]]):
            image_port = int(np.flatnonzero(table[image] == neighbour)[0])
            sends[image, image_port] = sends[node, port]


def _involution(graph: Topology) -> NDArray[np.int64] | None:
    """Return a translation of order two that maps the root to a neighbour, or None."""
    for neighbour in graph.table()[:, 0].tolist():
        images = graph.translation(neighbour).astype(np.int64)
        identity = np.arange(graph.nodes)
        if np.array_equal(images[images], identity) and (images != identity).all():
            return images
    return None


def _solve_formula(graph: Topology, target: int, budget: Budget) -> Decision:
    require_fit(_literals(graph, target), budget.memory, f"a broadcast on {graph.spec}")
    return _search_formula(graph, target, budget, None)


def _solve_symmetric(graph: Topology, target: int, budget: Budget) -> Decision:
    images = _involution(graph)
    if images is None:
        return OPEN
    require_fit(_literals(graph, target) // 2, budget.memory, f"a broadcast on {graph.spec}")
    outcome = _search_formula(graph, target, budget, images)
    # None that is symmetric says nothing about others.
    return outcome if outcome.result == "witness" else OPEN


def _search_formula(
    graph: Topology, target: int, budget: Budget, images: NDArray[np.int64] | None
) -> Decision:
    formula, sends = _formula(graph, target, images)
    subject = f"broadcast on {graph.spec} in {target} rounds"
    status, values = solve(formula, budget, subject)
    if status == "unsatisfiable":
        return Decision("none", formula=formula)
    if values is None:
        return OPEN
    informer = np.full(graph.nodes, -1)
    rounds = np.zeros(graph.nodes, dtype=np.int64)
    informer[0] = 0
    if images is not None:
        informer[images[0]], rounds[images[0]] = 0, 1
    return Decision("witness", _read_schedule(graph, values[sends], informer, rounds))


def _read_schedule(
    graph: Topology, sends: NDArray[np.bool_], informer: Neighbours, rounds: Neighbours
) -> Witness:
    """Complete a broadcast by the values of ``sends`` [nodes, ports, rounds + 1].

    Args:
        graph: the topology.
        sends: whether a node sends over a port in a round.
        informer: the node that informs each node, as far as is known; -1 otherwise.
        rounds: the round in which it does.
    """
    table = _table(graph)
    for now in range(1, sends.shape[2]):
        used = np.argwhere(sends[:, :, now])
        for node, port in used.tolist():
            receiver = table[node, port]
            if informer[receiver] < 0 <= informer[node] and rounds[node] < now:
                informer[receiver], rounds[receiver] = node, now
    return _as_witness(graph, informer, rounds)


def _as_witness(graph: Topology, informer: NDArray[np.int64], rounds: NDArray[np.int64]) -> Witness:
    ports = np.zeros(graph.nodes, dtype=np.uint8)
    for port in graph.ports:
        ports[graph.neighbours(port) == informer] = port
    ports[0] = 0
    return {"parent_port": ports, "round": rounds.astype(np.uint8)}


def _literals(graph: Topology, target: int) -> int:
    return graph.nodes * target * (graph.degree**2 + 4 * graph.degree + 4)


class OnePortBroadcast(SearchProblem):
    """Fewest one-port rounds of a broadcast."""

    name = "one-port-broadcast"
    question = "fewest one-port rounds of a broadcast"
    variables = "node v is informed after round t; node v sends over port i in round t"
    constraints = (
        "a node sends over one port in a round, and only if it was informed before; a node that "
        "becomes informed is sent to; after the last round all nodes are informed"
    )
    symmetry = (
        "translations: the root is the identity, which loses nothing. A second formula only "
        "admits schedules that a translation of order two maps to themselves after round 1; it "
        "finds witnesses, and its refutation proves nothing"
    )
    least_nodes = 2

    def bound(self) -> TheoryBound:
        return _bound(self.topology)

    def start(self, budget: Budget) -> Witness:
        return _start(self.topology, budget)

    def methods(self) -> Sequence[Method]:
        graph = self.topology
        methods = [
            Method("formula, symmetric after round 1", partial(_solve_symmetric, graph), 0.5),
            Method("formula", partial(_solve_formula, graph)),
        ]
        if not _is_small(graph):
            return methods
        random_rounds = partial(_match_rounds, graph)
        completed = partial(_complete_rounds, graph)
        return [
            Method(
                "rounds of maximum matchings, random", random_rounds, 0.1, solves_formulas=False
            ),
            Method("rounds of maximum matchings, the last by a formula", completed, 0.4),
            *methods,
        ]

    def literals(self, target: int) -> int:
        return _literals(self.topology, target)

    def statement(self, target: int) -> str:
        return f"no one-port broadcast in {target} rounds"

    def rebuild(self, target: int, _witness: Witness) -> Formula:
        return _formula(self.topology, target, None)[0]
