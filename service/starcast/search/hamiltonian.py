"""Find link-disjoint Hamiltonian cycles by exchanging links between 2-factors.

A 2-factor is a set of disjoint cycles through all nodes. The ports of a topology give floor(degree
/ 2) link-disjoint 2-factors. Each consists of the links of two ports: a port and its reverse port,
or two ports each of which is its own reverse. An exchange follows a short closed walk whose links
alternate between two 2-factors, and moves each link to the other 2-factor. The results are again
2-factors, and the exchange may join cycles.
"""

import random
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from starcast.records import Witness
from starcast.search.engines import Budget
from starcast.search.problem import OPEN, Decision, Method, SearchProblem, TheoryBound
from starcast.search.symmetry import orbits, translation_order
from starcast.topologies import Topology

#: The lengths of the closed walks along which links are exchanged.
_LENGTHS = (4, 6, 8)
#: Probability of keeping an exchange that adds a cycle, as long as many cycles are left.
_NOISE = 0.002
#: Up to this mean cycle length, every exchange that does not change the number of cycles is kept.
#: Such an exchange adds variety, but all nodes of the changed cycles must be renumbered. So if the
#: mean length is larger, the exchange is kept with a probability that decreases with the length.
_CHEAP = 800
#: Limits for quotients: the maximum number of nodes of a topology, and of translations to try.
_MAX_NODES = 50_000
_SAMPLES = 200

Walk = list[int]


class _Factor:
    """A 2-factor (disjoint cycles through all nodes), or the links that belong to no 2-factor.

    ``adjacent[v]`` lists the neighbours of node v. If ``is_counted`` is True, the cycles of the
    2-factor are counted: ``count`` is the number of cycles, ``cycle[v]`` is the number of the cycle
    through v, and ``place[v]`` is the index of v on this cycle.
    """

    def __init__(self, adjacent: list[list[int]], *, is_counted: bool) -> None:
        self.adjacent = adjacent
        self.is_counted = is_counted
        nodes = len(adjacent)
        self.cycle = [-1] * nodes
        self.place = [0] * nodes
        self.count = 0
        self._next = 0
        if is_counted:
            self._renumber(range(nodes))

    def _renumber(self, nodes: Sequence[int]) -> None:
        """Renumber the cycles through the given nodes, and the places of all nodes on them."""
        first = self._next
        for node in nodes:
            if self.cycle[node] >= first:
                continue
            for place, each in enumerate(_follow(self.adjacent, node)):
                self.cycle[each], self.place[each] = self._next, place
            self._next += 1
            self.count += 1

    def change(self, removed: list[tuple[int, int]], added: list[tuple[int, int]]) -> int:
        """Return the change in the number of this factor's cycles that an exchange would cause.

        Every node is an end of at most one removed link, and of at most one added link. The result
        is 0 if the cycles of this factor are not counted.
        """
        # Cycles are counted only in 2-factors that must become Hamiltonian cycles.
        if not self.is_counted:
            return 0
        by_cycle: dict[int, list[tuple[int, int, int]]] = {}
        for a, b in removed:
            # Orient the link in the direction of the cycle, from tail to head. A cycle has at least
            # three nodes, and the node in place 0 follows the node in the last place.
            difference = self.place[b] - self.place[a]
            tail, head = (a, b) if difference == 1 or difference < -1 else (b, a)
            by_cycle.setdefault(self.cycle[a], []).append((self.place[tail], tail, head))
        # Removing links divides a cycle into paths, each from the head of a removed link to the
        # tail of the next removed link.
        partner: dict[int, int] = {}
        for links in by_cycle.values():
            links.sort()
            for (_, _, head), (_, tail, _) in zip(links, [*links[1:], links[0]], strict=True):
                partner[head], partner[tail] = tail, head
        linked = dict(added) | {b: a for a, b in added}
        return _count_closed(partner, linked) - len(by_cycle)

    def exchange(self, removed: list[tuple[int, int]], added: list[tuple[int, int]]) -> None:
        """Remove links from this factor, add others, and renumber the cycles that change."""
        touched = {self.cycle[a] for a, _ in removed}
        for links, operation in ((removed, list.remove), (added, list.append)):
            for a, b in links:
                operation(self.adjacent[a], b)
                operation(self.adjacent[b], a)
        # Only cycles with a removed link can change.
        if self.is_counted:
            self.count -= len(touched)
            self._renumber([node for link in removed for node in link])


def _follow(adjacent: list[list[int]], start: int) -> Iterator[int]:
    """Yield the nodes on a 2-factor's cycle from ``start``, in one of its two directions."""
    before, node = -1, start
    while True:
        yield node
        a, b = adjacent[node]
        before, node = node, b if a == before else a
        if node == start:
            return


def _count_closed(partner: dict[int, int], linked: dict[int, int]) -> int:
    """Count the cycles in the union of two perfect matchings of the same nodes."""
    unvisited = set(partner)
    count = 0
    while unvisited:
        count += 1
        node = next(iter(unvisited))
        while node in unvisited:
            other = partner[node]
            unvisited -= {node, other}
            node = linked[other]
    return count


def two_factors(graph: Topology) -> tuple[list[list[list[int]]], list[list[int]]]:
    """Return link-disjoint 2-factors made from ports, and the links in none of these 2-factors.

    Each 2-factor, and the set of the other links, is given by the neighbours of each node.
    """
    reverse = {port: graph.reverse_port(port) for port in graph.ports}
    own = [port for port in graph.ports if reverse[port] == port]
    pairs = [(port, reverse[port]) for port in graph.ports if port < reverse[port]]
    pairs += list(zip(own[::2], own[1::2], strict=False))
    factors = []
    for a, b in pairs:
        columns = np.stack([graph.neighbours(a), graph.neighbours(b)], axis=1)
        factors.append(columns.tolist())
    rest: list[list[int]] = [[] for _ in range(graph.nodes)]
    if len(own) % 2:
        rest = graph.neighbours(own[-1])[:, None].tolist()
    return factors, rest


def quotient(graph: Topology, chance: random.Random) -> NDArray[np.int64] | None:
    """Return the class of each node in the quotient by a translation T of large odd order.

    Two nodes are in the same class if repeating T maps one to the other. Two classes are linked if
    there is a link between their nodes. Several translations are tried. Among those whose quotient
    has no loops or double links, T has the largest odd order.

    A walk that starts at a node v and follows a Hamiltonian cycle of the quotient once ends at
    T^i(v) for some i. If i and the order of T are coprime, the cycle lifts to a single Hamiltonian
    cycle of the topology.

    Even orders are not tried, because some of them cannot succeed. Let T swap the two sides of a
    bipartite topology, and let the number of classes be even. Then the walk has even length and
    ends on the side where it starts, so i is even. The order is even too, so the two numbers are
    not coprime.

    Returns:
        int64 ``[nodes]``. The result is None if no such translation is found, if translations
        change the ports of links, or if the topology has too many nodes.
    """
    if not graph.translation_keeps_ports or graph.nodes > _MAX_NODES:
        return None
    best, best_order = None, 1
    for node in chance.sample(range(graph.nodes), min(graph.nodes, _SAMPLES)):
        images = graph.translation(node).astype(np.int64)
        order = translation_order(images)
        # The larger the order, the smaller the quotient, and the fewer cycles have to be joined.
        if order % 2 == 0 or order <= best_order:
            continue
        least = orbits(graph.nodes, [images])
        near = np.sort(least[graph.table().astype(np.int64)], axis=0)
        if (near[1:] != near[:-1]).all() and (near != least).all():
            best, best_order = np.unique(least, return_inverse=True)[1].astype(np.int64), order
    return best


def _lift(
    graph: Topology, adjacent: list[list[int]], classes: NDArray[np.int64]
) -> list[list[int]]:
    """Lift a 2-factor of the quotient to the topology; return each node's two neighbours."""
    table = graph.table().T
    wanted = np.array(adjacent)[classes]
    is_used = (classes[table][:, :, None] == wanted[:, None, :]).any(axis=2)
    lifted: list[list[int]] = table[is_used].reshape(graph.nodes, 2).tolist()
    return lifted


def _as_factors(
    adjacent: list[list[list[int]]], rest: list[list[int]], target: int
) -> tuple[list[_Factor], list[_Factor]]:
    """Return two lists: the factors that must become Hamiltonian cycles, and all factors.

    The first list has the first ``target`` 2-factors. The second list also has the other 2-factors
    and the links ``rest``, because these may be exchanged too.
    """
    copies = [[list(each) for each in part] for part in (*adjacent, rest)]
    factors = [_Factor(each, is_counted=True) for each in copies[:target]]
    spare = [_Factor(each, is_counted=False) for each in copies[target:] if each and each[0]]
    return factors, factors + spare


def _join_cycles(
    graph: Topology,
    factors: list[_Factor],
    everything: list[_Factor],
    chance: random.Random,
    budget: Budget,
) -> bool:
    """Exchange links between factors until each of ``factors`` is a single cycle.

    Args:
        graph: the topology, for progress.
        factors: the 2-factors that must become Hamiltonian cycles.
        everything: ``factors``, and all other factors that may take part in exchanges.
        chance: source of randomness.
        budget: the time limit.

    Returns:
        True if each of ``factors`` became a single cycle within the time limit.
    """
    # If all links form a single 2-factor (for example in a ring), there is nothing to exchange.
    if len(everything) == 1:
        return factors[0].count == 1
    nodes = len(factors[0].adjacent)
    with budget.reporter.task(f"Hamiltonian cycles of {graph.spec}", 100, "%") as task:
        shown = 0
        while sum(factor.count for factor in factors) > len(factors):
            if budget.left <= 0:
                return False
            _step(everything, chance, nodes)
            done = int(100 * (1 - budget.left / budget.seconds))
            task.advance(done - shown)
            shown = done
    return True


def _step(factors: list[_Factor], chance: random.Random, nodes: int) -> None:
    """Try 100 random exchanges between factors; keep those that join cycles, and a few others."""
    for _ in range(100):
        first, second = chance.sample(factors, 2)
        if not (first.is_counted or second.is_counted):
            continue
        # The links of a closed walk alternate between the two factors. So an exchange does not
        # change the number of links that a node has in each factor.
        walk = _closed_walk(first, second, chance, nodes)
        if walk is None:
            continue
        ends = [*walk[1:], walk[0]]
        links = list(zip(walk, ends, strict=True))
        own, others = links[::2], links[1::2]
        added = first.change(own, others) + second.change(others, own)
        # When few cycles are left, exchanges that add a cycle are not kept, because joining this
        # cycle again takes too many steps.
        many = first.count + second.count > 6
        cheap = _CHEAP * (first.count + second.count) / (2 * nodes)
        is_kept = added < 0 or (added == 0 and chance.random() < cheap)
        if is_kept or (many and added == 1 and chance.random() < _NOISE):
            first.exchange(own, others)
            second.exchange(others, own)


def _closed_walk(first: _Factor, second: _Factor, chance: random.Random, nodes: int) -> Walk | None:
    """Return a random closed walk whose links alternate between two factors.

    The result is None if the walk reaches a dead end, or does not close at a permitted length.
    """
    walk = [chance.randrange(nodes)]
    for length in range(1, max(_LENGTHS) + 1):
        factor = first if length % 2 else second
        following = factor.adjacent[walk[-1]]
        if length in _LENGTHS and walk[0] in following:
            return walk
        fresh = [node for node in following if node not in walk]
        if not fresh:
            return None
        walk.append(chance.choice(fresh))
    return None


def _as_witness(graph: Topology, factors: list[list[list[int]]]) -> Decision:
    """Return a decision whose witness consists of the Hamiltonian cycles in ``factors``.

    Each factor is a single cycle. The witness contains the ports along each cycle from rank 0.
    """
    cycles = np.array([list(_follow(factor, 0)) for factor in factors])
    is_crossed = graph.table()[:, cycles] == np.roll(cycles, -1, axis=1)
    ports = np.array(graph.ports, dtype=np.uint8)
    return Decision("witness", {"ports": ports[is_crossed.argmax(axis=0)]})


class HamiltonianDecomposition(SearchProblem):
    """The problem of finding as many link-disjoint Hamiltonian cycles as possible."""

    name = "hamiltonian-decomposition"
    question = "largest number of link-disjoint Hamiltonian cycles"
    variables = "the 2-factor that contains each link"
    constraints = "each 2-factor is a single cycle"
    symmetry = (
        "the first method admits only cycles that a translation of odd order maps to themselves, "
        "and finds them by joining cycles of the quotient; the second method uses no symmetry. "
        "Both methods start from 2-factors made from ports; they find witnesses, but prove no "
        "bounds"
    )
    refuted = "no {target} link-disjoint Hamiltonian cycles"
    least_nodes = 3

    def bound(self) -> TheoryBound:
        degree = self.topology.degree
        return TheoryBound(degree // 2, f"each cycle uses two of the {degree} links of a node")

    def start(self, _budget: Budget) -> Witness:
        return {"ports": np.empty((0, self.topology.nodes), dtype=np.uint8)}

    def methods(self) -> Sequence[Method]:
        name = "exchanges between 2-factors"
        of_quotient = f"{name} of a quotient by a translation"
        return (
            Method(of_quotient, self._search_quotient, 0.6, solves_formulas=False),
            Method(name, self._search, solves_formulas=False),
        )

    def _search(self, target: int, budget: Budget) -> Decision:
        graph, chance = self.topology, random.Random(budget.seed)  # noqa: S311 - not a secret
        adjacent, rest = two_factors(graph)
        factors, everything = _as_factors(adjacent, rest, target)
        if _join_cycles(graph, factors, everything, chance, budget):
            return _as_witness(graph, [factor.adjacent for factor in factors])
        return OPEN

    def _search_quotient(self, target: int, budget: Budget) -> Decision:
        """Search in a quotient of the topology for cycles that lift to Hamiltonian cycles."""
        graph, chance = self.topology, random.Random(budget.seed)  # noqa: S311 - not a secret
        classes = quotient(graph, chance)
        if classes is None:
            return OPEN
        leaders = np.unique(classes, return_index=True)[1]
        adjacent, rest = two_factors(graph)
        parts = [classes[np.array(part)[leaders]].tolist() for part in adjacent]
        rest_part = classes[np.array(rest, dtype=np.int64)[leaders]].tolist()
        while budget.left > 0:
            factors, everything = _as_factors(parts, rest_part, target)
            if not _join_cycles(graph, factors, everything, chance, budget):
                return OPEN
            lifted = [_lift(graph, factor.adjacent, classes) for factor in factors]
            # A Hamiltonian cycle of the quotient may lift to several cycles of the topology; see
            # `quotient`.
            if all(len(list(_follow(each, 0))) == graph.nodes for each in lifted):
                return _as_witness(graph, lifted)
        return OPEN
