"""Compute the value of a witness from the definition of its problem, and reject invalid witnesses.

The checks use no code of `starcast.search`. A witness consists of arrays, and a check reads only
these arrays and the topology. For N nodes, the arrays of a witness are

* ``one-port-broadcast``: ``parent_port`` [N], the port to the node that informs each node (0 at the
  root, rank 0), and ``round`` [N], the round in which each node is informed, from 1 (0 at the
  root);
* ``hamiltonian-decomposition``: ``ports`` [cycles, N], the ports along each cycle from rank 0;
* ``edge-disjoint-trees`` and ``congestion-trees``: ``parent_port`` [degree, N], trees with root 0;
* ``independent-trees``: ``parent_port`` [trees, N], undirected trees, stored with root 0;
* ``fault-diameter``: ``faults``, the faulty nodes; ``pair``, two nodes whose distance without the
  faulty nodes is the value; and ``paths``, paths from rank 0 that prove the bound, padded with -1;
* ``bisection-width``: ``side`` [N], the half of each node, 0 or 1; and the arrays of a certificate,
  described in `starcast.records.cut_bounds`.

A witness must not have other arrays. Otherwise, a certificate for bisections could "prove" a bound
of another problem.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.records import checkers
from starcast.records.cut_bounds import certified_cut
from starcast.records.model import CERTIFICATE, PROBLEMS, RESTORE, Record, Witness
from starcast.support.errors import RejectedError
from starcast.support.limited import MB
from starcast.topologies import topology

#: The names of all problems.
PROBLEM_NAMES = tuple(PROBLEMS)
#: Maximum number of nodes for which records are checked, by problem. S11 has 39,916,800 nodes; a
#: check of a broadcast on S11 needs 3 GB. Several other checks use Python sets and lists, which
#: need hundreds of bytes per node.
MAX_NODES: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(PROBLEMS, 500_000) | {"one-port-broadcast": 40_000_000}
)
#: Maximum size of a witness in bytes, or two bytes per node if that is more. A check needs eight
#: times as much memory as the witness.
_MAX_BYTES = 40 * MB
ProblemArguments = Mapping[str, int]


def verify(record: Record) -> None:
    """Check that a record's witness has the record's value, and that the bound allows this value.

    If the witness contains a certificate for the bound, the bound is verified too.

    Raises:
        RejectedError: the witness is invalid, the witness or the topology is too large, the
            witness's value is not the record's value, the value contradicts the bound, a path is
            malformed or longer than the bound, or the certificate does not prove the bound.
        InputError: the topology does not exist.
    """
    unknown = sorted(record.witness.keys() - set(_PROBLEMS[record.problem].arrays))
    if unknown:
        raise _rejected(record.id, f"a witness of its problem cannot have an array '{unknown[0]}'")
    found = witness_value(record.problem, record.topology, record.arguments, record.witness)
    if found != record.value:
        raise _rejected(record.id, f"its witness has the value {found}, not {record.value}")
    if record.sign * record.bound > record.sign * record.value:
        raise _rejected(record.id, f"value {record.value} contradicts the bound {record.bound}")
    # A certificate is checked only if there is one, because a bound can also follow from theory or
    # from a proof.
    if record.witness.keys() & set(CERTIFICATE):
        _check_certificate(record)
    if "paths" in record.witness:
        _check_paths(_WitnessCheck.of(record), record.bound)


def witness_value(problem: str, spec: str, arguments: ProblemArguments, witness: Witness) -> int:
    """Compute the value of a witness, for example a broadcast's number of rounds.

    Args:
        problem: the name of the problem.
        spec: the spec of the topology.
        arguments: the arguments of the problem, by name.
        witness: the arrays that the docstring of this module describes.

    Raises:
        RejectedError: the witness is not a valid object of the problem, or the witness or the
            topology is too large.
        InputError: the topology does not exist.
    """
    check = _WitnessCheck(problem, spec, f"{problem} on {spec}", witness)
    return _PROBLEMS[problem].check(check, arguments)


class _WitnessCheck:
    """A witness to check, and its topology. The methods raise `RejectedError` if a check fails."""

    def __init__(self, problem: str, spec: str, subject: str, witness: Witness) -> None:
        self.graph = topology(spec)
        self.subject = subject
        self._witness = witness
        most = MAX_NODES[problem]
        self.require(self.graph.nodes <= most, f"its topology has more than {most:,} nodes")
        size = sum(np.asarray(array).nbytes for array in witness.values())
        allowed = max(_MAX_BYTES, 2 * self.graph.nodes)
        self.require(size <= allowed, f"its arrays take more than {allowed // MB} MB")

    @classmethod
    def of(cls, record: Record) -> "_WitnessCheck":
        """Return a new object for checking a record's witness."""
        return cls(record.problem, record.topology, record.id, record.witness)

    def array(self, name: str, *shape: int | None) -> NDArray[np.int64]:
        """Return an array of integers or booleans from the witness, after checking its shape.

        Args:
            name: the name of the array.
            shape: the length in each dimension; None if any length is allowed.
        """
        array = self._witness.get(name)
        self.require(array is not None, f"the array '{name}' is missing")
        values = np.asarray(array)
        fits = values.ndim == len(shape) and all(
            wanted in (None, length) for wanted, length in zip(shape, values.shape, strict=True)
        )
        self.require(fits, f"the array '{name}' has a wrong shape")
        self.require(values.dtype.kind in "iub", f"the array '{name}' does not contain integers")
        # A huge unsigned number would become negative in int64, and might pass the other checks.
        is_small = values.dtype != np.uint64 or values.max(initial=0) <= np.iinfo(np.int64).max
        self.require(is_small, f"an entry of the array '{name}' is too large")
        return values.astype(np.int64)

    def require(self, condition: object, reason: str) -> None:
        """Reject the witness unless a condition holds."""
        if not condition:
            raise _rejected(self.subject, reason)

    def forest(self, trees: int | None) -> NDArray[np.uint8]:
        """Return the array ``parent_port`` after checking that each row describes a spanning tree.

        Args:
            trees: the required number of rows; None if any number is allowed.
        """
        rows = self.array("parent_port", trees, self.graph.nodes)
        self.require(
            rows.min(initial=0) >= 0 and rows.max(initial=0) < 256,
            "a port is negative or too large",
        )
        ports = rows.astype(np.uint8)
        if len(ports):
            checkers.spanning(self.graph, ports, 0).require()
        return ports

    def neighbours_of(self, nodes: NDArray[Any], ports: NDArray[Any]) -> NDArray[np.int64]:
        """Return the neighbour of each node across the port given for that node."""
        self.require(np.isin(ports, self.graph.ports).all(), "an entry is not a port")
        return self.graph.step(ports.astype(np.uint8), nodes).astype(np.int64)


def _broadcast(check: _WitnessCheck, _arguments: ProblemArguments) -> int:
    nodes = check.graph.nodes
    ports, rounds = check.array("parent_port", nodes), check.array("round", nodes)
    check.require(ports[0] == 0 and rounds[0] == 0, "the root is informed by another node")
    others = np.arange(1, nodes)
    senders = check.neighbours_of(others, ports[1:])
    check.require((rounds[1:] > rounds[senders]).all(), "a node sends before it is informed")
    last = int(rounds.max())
    # A broadcast without idle rounds has fewer rounds than nodes, because each round informs a
    # node.
    check.require(last < nodes, "a round is too large")
    # If a node sends twice in a round, the same pair of sender and round occurs twice. Pairs are
    # sorted, because on S11 `np.unique` takes a hundred times as long.
    sends = np.sort(senders * (last + 1) + rounds[1:])
    check.require((sends[1:] != sends[:-1]).all(), "a node sends twice in a round")
    return last


def _hamiltonian(check: _WitnessCheck, _arguments: ProblemArguments) -> int:
    nodes = check.graph.nodes
    paths = check.array("ports", None, nodes)
    check.require(np.isin(paths, check.graph.ports).all(), "an entry is not a port")
    table = {port: check.graph.neighbours(port).tolist() for port in check.graph.ports}
    used: set[tuple[int, int]] = set()
    for path in paths.tolist():
        node, visited = 0, set[int]()
        for port in path:
            following = table[port][node]
            used.add((min(node, following), max(node, following)))
            visited.add(following)
            node = following
        check.require(node == 0 and len(visited) == nodes, "a walk is not a Hamiltonian cycle")
    check.require(len(used) == len(paths) * nodes, "two cycles share a link")
    return len(paths)


def _congestion(check: _WitnessCheck, arguments: ProblemArguments) -> int:
    allowed = arguments.get("congestion")
    check.require(type(allowed) is int, "its argument 'congestion' is missing or not a number")
    ports = check.forest(check.graph.degree)
    checkers.congestion(check.graph, ports, 0, arguments["congestion"]).require()
    heights = checkers.height(check.graph, ports, 0, check.graph.nodes).measured
    return int(np.max(heights))


def _independent(check: _WitnessCheck, _arguments: ProblemArguments) -> int:
    """Return the number of trees; reject trees that share links or inner nodes.

    By Hasunuma (2001), trees that share neither links nor inner nodes are completely independent.
    """
    graph = check.graph
    rows = check.forest(None)
    used: set[tuple[int, int]] = set()
    inner = np.zeros(graph.nodes, dtype=np.int64)
    for row in rows:
        children = np.arange(1, graph.nodes)
        parents = check.neighbours_of(children, row[1:])
        used |= {(min(link), max(link)) for link in zip(*(children, parents), strict=True)}
        degrees = np.bincount(parents, minlength=graph.nodes) + 1
        degrees[0] -= 1
        # A node may be a leaf of any number of trees, but an inner node of at most one tree.
        inner += degrees > 1
    check.require(len(used) == len(rows) * (graph.nodes - 1), "two trees share a link")
    check.require((inner <= 1).all(), "a node is an inner node of two trees")
    return len(rows)


def _fault_diameter(check: _WitnessCheck, _arguments: ProblemArguments) -> int:
    faults, pair = check.array("faults", None), check.array("pair", 2)
    named = [*faults.tolist(), *pair.tolist()]
    check.require(len(faults) <= check.graph.degree - 1, "the number of faulty nodes is too large")
    check.require(len(set(named)) == len(named), "a node is listed twice")
    check.require(
        all(0 <= node < check.graph.nodes for node in named), "a listed node does not exist"
    )
    table = np.stack([check.graph.neighbours(port) for port in check.graph.ports])
    is_visited = np.zeros(check.graph.nodes, dtype=bool)
    is_visited[[*faults, pair[0]]] = True
    front: NDArray[Any] = pair[:1]
    distance = 0
    while len(front) and not is_visited[pair[1]]:
        distance += 1
        reached = np.unique(table[:, front])
        front = reached[~is_visited[reached]]
        is_visited[front] = True
    check.require(len(front), "the faults separate the two nodes of the pair")
    return distance


def _check_paths(check: _WitnessCheck, longest: int) -> None:
    """Check that the rows of ``paths`` are paths from rank 0 with at most ``longest`` links."""
    rows = check.array("paths", None, None)
    check.require(rows.shape[1] > 0, "the paths have no nodes")
    # Whether the paths imply the bound is not checked here: the record's proof shows this.
    check.require(rows.shape[1] <= longest + 1, "a path is longer than the bound")
    table = np.stack([check.graph.neighbours(port) for port in check.graph.ports])
    check.require((rows[:, 0] == 0).all(), "a path does not begin at rank 0")
    check.require((rows < check.graph.nodes).all(), "a node of a path does not exist")
    for before, after in zip(rows.T, rows.T[1:], strict=False):
        linked = (table[:, np.maximum(before, 0)] == after).any(axis=0)
        check.require(
            (linked & (before >= 0) | (after < 0)).all(),
            "consecutive nodes of a path are not adjacent",
        )


def _check_certificate(record: Record) -> None:
    """Check that the inequalities in a record's witness prove the record's bound."""
    check = _WitnessCheck.of(record)
    nodes = check.graph.nodes
    vectors = check.array("vectors", None, nodes)
    proven = certified_cut(
        check.graph,
        check.array("automorphisms", None, nodes),
        vectors,
        check.array("multipliers", len(vectors) + 1),
        int(check.array("denominator", 1)[0]),
    )
    check.require(
        proven >= record.bound, f"its inequalities prove only {proven}, not {record.bound}"
    )


def _bisection(check: _WitnessCheck, _arguments: ProblemArguments) -> int:
    side = check.array("side", check.graph.nodes)
    check.require(np.isin(side, (0, 1)).all(), "the half of a node is neither 0 nor 1")
    check.require(
        abs(2 * int(side.sum()) - len(side)) <= 1, "the halves differ in size by more than one node"
    )
    cut = sum(int((side != side[check.graph.neighbours(port)]).sum()) for port in check.graph.ports)
    return cut // 2


def _rejected(subject: str, reason: str) -> RejectedError:
    return RejectedError(f"{subject} is rejected: {reason}", hint=RESTORE)


class _Problem(NamedTuple):
    """The function that checks a problem's witnesses, and the names of their possible arrays."""

    check: Callable[[_WitnessCheck, ProblemArguments], int]
    arrays: tuple[str, ...]


_PROBLEMS = {
    "one-port-broadcast": _Problem(_broadcast, ("parent_port", "round")),
    "hamiltonian-decomposition": _Problem(_hamiltonian, ("ports",)),
    "edge-disjoint-trees": _Problem(
        lambda check, _: _congestion(check, {"congestion": 1}), ("parent_port",)
    ),
    "congestion-trees": _Problem(_congestion, ("parent_port",)),
    "independent-trees": _Problem(_independent, ("parent_port",)),
    "fault-diameter": _Problem(_fault_diameter, ("faults", "pair", "paths")),
    "bisection-width": _Problem(_bisection, ("side", *CERTIFICATE)),
}
