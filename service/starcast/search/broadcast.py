"""Search for one-port broadcasts with the fewest rounds.

In a round, an informed node informs at most one neighbour.

A local search finds schedules (`starcast.search.local_search`). A SAT solver decides whether a
given number of rounds suffices: if the solver refutes the formula, more rounds are needed. The
initial lower bound comes from counting (Liestman & Peters 1988).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import cycle
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.records import Witness
from starcast.search.engines import Budget, Formula, require, require_memory
from starcast.search.problem import OPEN, Decision, FormulaProblem, Method, TheoryBound
from starcast.support.progress import reporting
from starcast.topologies import Topology, ports_towards

#: Possible numbers of final rounds that the local search changes. Each new start of the search uses
#: the next number, cyclically.
_SEARCHED = (3, 4, 5, 6)
#: Bytes per node that the local search needs in addition to the table of neighbours, measured on
#: S11.
_BYTES_PER_NODE = 55
#: Number of steps per part of the local search. The time limit is checked after each part.
_STEPS = 50_000
#: Number of parts after which the local search starts again with another tree: `_LEAST_PARTS`, plus
#: one part per `_NODES_PER_PART` nodes that the initial tree does not inform.
_LEAST_PARTS, _NODES_PER_PART = 20, 10
#: Maximum clique size for `clique_bound`. At this size the computation takes a second; at twice the
#: size it takes minutes, and such large cliques hardly restrict a broadcast.
_MAX_CLIQUE = 20


def counting_bound(nodes: int, degree: int) -> int:
    """Return a lower bound on the rounds of a one-port broadcast on ``nodes`` nodes.

    Every node has the degree ``degree``.

    The root informs at most ``degree`` nodes, and every other node at most ``degree - 1``, since
    the neighbour that informed it has the message already. At best, the root sends in each of the
    first ``degree`` rounds, and every other node in each of the ``degree - 1`` rounds after it was
    informed. The bound is the number of rounds in this case.
    """
    # The number of nodes that are informed in each round; in round 0 this is only the root.
    informed = [1]
    while sum(informed) < nodes:
        now = len(informed)
        senders = sum(informed[max(now - degree + 1, 1) :])
        informed.append(senders + (now <= degree))
        # No more nodes can be informed: the degree is too small for this number of nodes.
        if informed[-1] == 0:
            break
    return len(informed) - 1


def tabulate_bounds(most: int, find_value: Callable[[int], int | None]) -> list[dict[str, int]]:
    """Return bounds on the number of rounds of a one-port broadcast on S_3, S_4, and so on.

    The upper bound is the number of rounds of the best known broadcast. If no broadcast on S_n is
    known, it is the upper bound for S_(n-1) plus 1 + ceil(log2(n-1)).

    Args:
        most: the largest n.
        find_value: ``find_value(n)`` returns the number of rounds of the best known broadcast on
            S_n, or None if no broadcast is known.

    Returns:
        One row per n, with the keys ``n``, ``lower_bound``, ``log2_nodes``, ``upper_bound`` and
        ``published``. The value of ``log2_nodes`` is ceil(log2 n!). The value of ``published`` is
        the published upper bound, the sum of ceil(log2 i) for i <= n.
    """
    rows, upper, published = list[dict[str, int]](), 1, 1
    for n in range(3, most + 1):
        # ceil(log2 x) is the number of bits of x - 1.
        upper = find_value(n) or upper + 1 + (n - 2).bit_length()
        published += (n - 1).bit_length()
        nodes = factorial(n)
        row = {"n": n, "lower_bound": counting_bound(nodes, n - 1)}
        row |= {"log2_nodes": (nodes - 1).bit_length(), "upper_bound": upper}
        rows.append(row | {"published": published})
    return rows


def clique_bound(graph: Topology) -> int:
    """Return a lower bound on the rounds of a one-port broadcast in S_{n,k}, based on its cliques.

    The n-k+1 nodes of S_{n,k} that differ only in the first symbol form a clique. Every node has
    k-1 further links, each into another clique. A node that was informed across such a link cannot
    inform another node across that link. If all nodes of a clique are informed, only their links to
    other cliques are useful. So a broadcast grows more slowly than the degrees of the nodes alone
    would allow.

    Proof. Every node that was informed from another clique starts a new *part* of its clique. The
    part also contains the nodes that this node informs within the clique, directly or through other
    nodes of the clique. A part has at most n-k+1 nodes. The first node of a part has k-2 links out
    of the clique that may inform a node; every other node, and the root, has k-1. `_more` takes the
    maximum over all ways in which parts can grow, without a limit on the number of parts.

    The bound is attained on S_{6,2}, S_{6,3}, S_{8,2}, S_{9,3}, S_{11,2}, S_{15,2} and S_{16,2},
    where counting by degree gives one round fewer.

    Args:
        graph: S_{n,k}. The result is 0 for other topologies, and for cliques of more than 20 nodes.

    Example:
        >>> from starcast import topology
        >>> clique_bound(topology("S8,2"))  # 56 nodes; 6 rounds of doubling would reach 64 nodes
        7
    """
    if graph.family != "nk-star" or graph.k is None or graph.n - graph.k >= _MAX_CLIQUE:
        return 0
    root = _single(graph.k - 1, graph.k - 1)
    rounds = 0
    while 1 + _more(graph.n - graph.k + 1, root, rounds) < graph.nodes:
        rounds += 1
    return rounds


@cache
def _more(size: int, free: tuple[int, ...], rounds: int) -> int:
    """Return the maximum number of nodes that a part of a clique can still inform.

    Nodes that are informed indirectly, in this clique or in other cliques, count too. The docstring
    of `clique_bound` defines the parts.

    Args:
        size: the number of nodes of a clique.
        free: entry l is the number of informed nodes in the part that have l unused links to other
            cliques.
        rounds: the number of remaining rounds.
    """
    if rounds == 0:
        return 0
    links = len(free) - 1
    most = 0
    for senders in range(sum(free[1:]) + 1):
        inside = min(sum(free) - senders, size - sum(free))
        after = _send(free, senders)
        after[links] += inside
        # Each node that sends out of the clique starts a part, whose first node has one used link.
        # All parts that begin in this round are alike, so only one of them is computed.
        outside = senders and senders * (1 + _more(size, _single(links - 1, links), rounds - 1))
        most = max(most, inside + outside + _more(size, tuple(after), rounds - 1))
    return most


def _single(free: int, links: int) -> tuple[int, ...]:
    """Return the argument ``free`` of `_more` for a part that consists of a single node.

    Args:
        free: the number of unused links of the node.
        links: the maximum number of links that a node has out of its clique.
    """
    return tuple(int(each == free) for each in range(links + 1))


def _send(free: tuple[int, ...], senders: int) -> list[int]:
    """Let ``senders`` nodes of a part send out of the clique; return the part's new ``free``.

    The list ``free`` counts the part's nodes by their number of free links (see `_more`). Nodes
    with the most free links send first.

    No other choice is better. Let nodes A and B have p < q free links, and let A send now. Later A
    sends at most p - 1 times, and B at most q times. If B sends q times, B sends in some round in
    which A does not. Then B can send now, and A in that round. So if B sends now instead of A, the
    two nodes together can send as often as before.
    """
    after = list(free)
    for links in range(len(free) - 1, 0, -1):
        sending = min(senders, free[links])
        senders -= sending
        after[links] -= sending
        after[links - 1] += sending
    return after


class OnePortBroadcast(FormulaProblem):
    """The problem of finding a one-port broadcast with the fewest rounds.

    A node sends to at most one neighbour per round.
    """

    name = "one-port-broadcast"
    question = "smallest number of rounds of a one-port broadcast"
    variables = "node v is informed after round t; node v sends over port i in round t"
    constraints = (
        "a node sends over at most one port in a round, and only if it was informed before the "
        "round; a node becomes informed only if a neighbour sends to it; after the last round all "
        "nodes are informed"
    )
    symmetry = "translations: without loss of generality, the root is the identity"
    refuted = "no one-port broadcast in {target} rounds"
    least_nodes = 2

    def bound(self) -> TheoryBound:
        graph = self.topology
        counted = TheoryBound(
            counting_bound(graph.nodes, graph.degree),
            f"in each round at most the nodes informed in the {graph.degree - 1} rounds before can "
            f"inform another (counting, degree {graph.degree}; Liestman & Peters 1988)",
        )
        by_cliques = TheoryBound(
            clique_bound(graph),
            f"a node informed across a link between cliques of {graph.n - (graph.k or 0) + 1} nodes"
            " cannot use that link again, and a full clique only its links to others"
            " (starcast.search.broadcast.clique_bound)",
        )
        farthest = TheoryBound(graph.diameter, "the diameter")
        return max(counted, by_cliques, farthest, key=lambda bound: bound.value)

    def start(self, budget: Budget) -> Witness:
        """Return a broadcast in which each round is a maximum matching of senders and receivers."""
        rng = np.random.default_rng(budget.seed)
        with self._exchanges(budget) as search:
            tree = search.matched_tree(self._table(), self.topology.nodes, 0, rng)
        return self._as_witness(tree.informer, tree.rounds)

    def methods(self) -> Sequence[Method]:
        exchanges = "rounds of maximum matchings, the last by exchanges"
        return [
            Method(exchanges, self._search_trees, 0.5, solves_formulas=False),
            Method("formula", self.solve),
        ]

    def subject(self, target: int) -> str:
        return f"broadcast on {self.topology.spec} in {target} rounds"

    def literals(self, target: int) -> int:
        degree = self.topology.degree
        return self.topology.nodes * target * (degree**2 + 4 * degree + 4)

    def write(self, target: int) -> tuple[Formula, NDArray[np.int32]]:
        """Return the formula for a broadcast in at most ``target`` rounds.

        Returns:
            The formula, and its variables ``sends`` [nodes, ports, rounds + 1], which are true if a
            node sends over a port in a round.
        """
        graph, table = self.topology, self._table()
        back = np.argmax(table[table] == np.arange(graph.nodes)[:, None, None], axis=2)
        distances = graph.distances(0)
        formula = Formula()
        informed = formula.new(graph.nodes, target + 1)
        sends = formula.new(graph.nodes, graph.degree, target + 1)
        for node in range(graph.nodes):
            for now in range(target + 1):
                if node == 0:
                    formula.add(informed[node, now])
                elif now < distances[node] or now == 0:
                    formula.add(-informed[node, now])
            if node > 0:
                formula.add(informed[node, target])
            for now in range(1, target + 1):
                # The formula lets nodes send to informed nodes. Forbidding this would need more
                # clauses; instead, `read` omits such transmissions.
                own, before = sends[node, :, now], informed[node, now - 1]
                formula.at_most_one(own.tolist())
                for each in own:
                    formula.add(-each, before)
                causes = sends[table[node], back[node], now]
                formula.add(-informed[node, now], before, *causes)
        return formula, sends

    def read(self, values: NDArray[np.bool_]) -> Witness:
        """Return the broadcast that the values of ``sends`` [nodes, ports, rounds + 1] describe."""
        table = self._table()
        informer = np.full(len(table), -1)
        rounds = np.zeros(len(table), dtype=np.int64)
        informer[0] = 0
        for now in range(1, values.shape[2]):
            for node, port in np.argwhere(values[:, :, now]).tolist():
                receiver = table[node, port]
                # The formula also allows transmissions to informed nodes, which the result omits.
                if informer[receiver] < 0 <= informer[node] and rounds[node] < now:
                    informer[receiver], rounds[receiver] = node, now
        return self._as_witness(informer, rounds)

    def _table(self) -> NDArray[np.int32]:
        """Return the neighbours of all nodes, int32 ``[nodes, ports]``."""
        graph = self.topology
        # The table is filled port by port, because a transposed copy of `Topology.table` would need
        # twice the memory.
        table = np.empty((graph.nodes, graph.degree), dtype=np.int32)
        for column, port in enumerate(graph.ports):
            table[:, column] = graph.neighbours(port)
        return table

    @contextmanager
    def _exchanges(self, budget: Budget) -> Iterator[Any]:
        """Yield the local search module, after importing it and reporting its compilation.

        Raises:
            LimitError: the search does not fit into the memory limit.
            UnavailableError: numba is not installed.
        """
        size = self.topology.nodes * (4 * self.topology.degree + _BYTES_PER_NODE)
        require_memory(size, budget.memory, f"the search on {self.topology.spec}")
        require("numba")
        with reporting(budget.reporter):
            yield import_module("starcast.search.local_search")

    def _search_trees(self, target: int, budget: Budget) -> Decision:
        """Search for a broadcast with at most ``target`` rounds.

        Each attempt builds a tree from maximum matchings that are partly random, and then changes
        the last rounds of the tree. After a limited number of steps, the next attempt begins.
        """
        rng = np.random.default_rng(budget.seed)
        with self._exchanges(budget) as search:
            table = self._table()
            # The best number of rounds to change depends on the topology. All numbers are tried in
            # turn, which costs little, because each new initial tree is built quickly.
            for searched in cycle(_SEARCHED):
                tree = search.matched_tree(table, target, searched, rng)
                for _ in range(_LEAST_PARTS + int(tree.counts[0]) // _NODES_PER_PART):
                    if search.exchange(tree, _STEPS, rng) == 0:
                        return Decision("witness", self._as_witness(tree.informer, tree.rounds))
                    if budget.left <= 0:
                        return OPEN
                # Two trees at a time might not fit into memory.
                del tree
        raise AssertionError  # `cycle` never ends

    def _as_witness(self, informer: NDArray[Any], rounds: NDArray[Any]) -> Witness:
        ports = ports_towards(self.topology, informer)
        return {"parent_port": ports, "round": rounds.astype(np.min_scalar_type(rounds.max()))}
