"""Sheu, Liaw & Chen 1993: the broadcast in 2n-3 steps, its lower bounds and its streams."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import checkers, permutations
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import Number, divided, factorial, greatest, log2, rounded_up
from starcast.claims.papers.common import check_star_size
from starcast.claims.reference import bfs
from starcast.claims.reference.place_labels import row_links
from starcast.claims.reference.star_labels import symbols
from starcast.claims.registry import check
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.schedule import BYTES_A_ROW, Schedule
from starcast.topologies import Topology
from starcast.whole import ceiling

_STREAMS = (1, 2, 3, 7)


def _rows(topology: Topology) -> int:
    """The bytes a node of the largest schedule here."""
    return BYTES_A_ROW * max(_STREAMS) * topology.degree


@check("SLC.size")
def _size(check: ClaimCheck) -> None:
    check_star_size(check)
    found = bfs.diameter(check.objects, check.topology.spec)
    check.reading("the brackets as the ceiling").equal(
        "greatest distance", found, ceiling(3 * (check.topology.n - 1), 2)
    )


@check("SLC.substars")
def _substars(check: ClaimCheck) -> None:
    topology, n = check.topology, check.topology.n
    rows, across = symbols(check.objects, topology), check.objects.neighbours(topology.spec)
    smaller = check.objects.neighbours(f"S{n - 1}")
    for p in range(1, n):
        fixed = rows[:, p]
        check.equal(
            f"nodes with a symbol in position {p + 1}",
            np.bincount(fixed, minlength=n + 1)[1:],
            factorial(n - 1),
        )
        rest = np.delete(rows, p, axis=1)
        node = permutations.rank(rest - (rest > fixed[:, None]))
        each = np.unique(fixed.astype(np.int64) * topology.nodes + node)
        check.equal("nodes of S_{n-1} that the substars stand for", len(each), factorial(n))
        inside = np.delete(across, p - 1, axis=0)
        check.equal(
            "substar across a link", fixed[inside], fixed[None], node=lambda _, v: topology.label(v)
        )
        check.equal(
            "links of the substars",
            node[inside],
            smaller[:, node],
            node=lambda _, v: topology.label(v),
        )
        check.true(
            f"dimension {p + 1} leaves the substar",
            fixed[across[p - 1]] != fixed,
            node=topology.label,
        )
    if n == 4:
        for ending in ("1", "23"):
            _ending(check, ending)


def _ending(check: ClaimCheck, ending: str) -> None:
    """The nodes that end so are joined over the dimensions of the other positions as a star graph is."""
    topology, i = check.topology, check.topology.n - len(ending)
    nodes = np.array([v for v in range(topology.nodes) if topology.label(v).endswith(ending)])
    first = symbols(check.objects, topology)[nodes, :i]
    small = permutations.rank(
        np.argsort(np.argsort(first, axis=1), axis=1).astype(np.uint8) + np.uint8(1)
    )
    check.equal(f"nodes of S_{i}({ending})", len(nodes), factorial(i))
    check.equal(
        f"nodes of S_{i}({ending}) as those of S_{i}", np.sort(small), np.arange(factorial(i))
    )
    image = np.full(topology.nodes, -1)
    image[nodes] = small
    inside = image[check.objects.neighbours(topology.spec)[: i - 1, nodes]]
    check.equal(
        f"links of S_{i}({ending})",
        inside,
        check.objects.neighbours(f"S{i}")[:, small],
        node=lambda _, v: topology.label(int(nodes[v])),
    )


def _broadcast(check: ClaimCheck, root: int = 0, messages: int = 1, ports: str = "all") -> Schedule:
    return check.objects.schedule(
        check.topology.spec, "broadcast", "recursive-substar", ports, root, messages=messages
    )


@check("SLC.L3", bytes_per_node=_rows)
def _two_steps(check: ClaimCheck) -> None:
    topology, n, rows = check.topology, check.topology.n, symbols(check.objects, check.topology)
    for root in bfs.roots(topology):
        made = _broadcast(check, root)
        check.execute(made)
        into = rows[made.receiver, -1]
        enters = rows[made.sender, -1] != into
        own = rows[root, -1]
        entered = np.bincount(into[enters], minlength=n + 1)[1:]
        stated = (np.arange(1, n + 1) != own).astype(np.int64)
        at = topology.label(root)
        check.equal(
            "links that enter a substar", entered, stated, node=at, symbol=lambda s: s + 1, of=made
        )
        check.equal("port of such a link", made.port[enters], n, node=at, of=made)
        check.equal(
            "step in which the last substar is entered",
            made.step[enters].max(initial=0),
            2,
            node=at,
            of=made,
        )
        early = into[made.step <= 2]
        inside = [symbol in early for symbol in range(1, n + 1) if symbol != own]
        check.true("two steps bring the message to a substar", inside, node=at, of=made)


@check("SLC.once", bytes_per_node=_rows)
def _once(check: ClaimCheck) -> None:
    topology = check.topology
    for root in bfs.roots(topology):
        made = _broadcast(check, root)
        check.execute(made)
        stated = (np.arange(topology.nodes) != root).astype(np.int64)
        received = np.bincount(made.receiver, minlength=topology.nodes)
        check.equal(
            "times that a node receives the message", received, stated, node=topology.label, of=made
        )


@check("SLC.T4", bytes_per_node=_rows)
def _steps(check: ClaimCheck) -> None:
    topology = check.topology
    for root in bfs.roots(topology):
        made = _broadcast(check, root)
        check.equal(
            "number of the last step",
            check.execute(made).steps,
            2 * topology.n - 3,
            node=topology.label(root),
            of=made,
        )
    tree = check.objects.forest(topology.spec, "recursive-substar")
    height = checkers.height(topology, tree.parent_port, tree.root, bound=topology.nodes).measured
    check.equal("height of the tree", height, 2 * topology.n - 3, of=tree)


@check("SLC.ports", bytes_per_node=_rows)
def _ports(check: ClaimCheck) -> None:
    topology = check.topology
    for messages in _STREAMS:
        made = _broadcast(check, messages=messages)
        check.execute(made)
        link = row_links(made)
        crossed = (made.step.astype(np.int64) * topology.nodes + made.sender) * 256 + made.port
        _, which, count = np.unique(crossed, return_inverse=True, return_counts=True)
        check.equal(
            "messages on a link in a step",
            count[which],
            1,
            M=messages,
            step=made.step,
            link=link,
            of=made,
        )
        came = np.full((topology.nodes, made.units), -1, dtype=np.int64)
        came[made.receiver, made.payload] = made.sender
        back = came[made.sender, made.payload] == made.receiver
        check.equal(
            "sent back to where it came from",
            back,
            np.False_,
            M=messages,
            step=made.step,
            link=link,
            of=made,
        )


#: The example of section 2: who sends to whom in steps 1 and 2.
_EXAMPLE = {
    1: {"1234": "2134 3214 4231"},
    2: {"2134": "3124 4132", "3214": "2314 4213", "4231": "2431 3241"},
}


@check("SLC.ex")
def _example(check: ClaimCheck) -> None:
    topology, made = check.topology, _broadcast(check)
    took = check.execute(made)
    for step, sent in _EXAMPLE.items():
        senders = np.unique(made.sender[made.step == step])
        check.equal(
            "senders",
            " ".join(topology.label(int(v)) for v in senders),
            " ".join(sent),
            step=step,
            of=made,
        )
        for sender, stated in sent.items():
            chosen = (made.step == step) & (made.sender == topology.rank(sender))
            found = sorted(topology.label(int(v)) for v in made.receiver[chosen])
            check.equal("receivers", " ".join(found), stated, step=step, node=sender, of=made)
    check.equal("number of the last step", took.steps, 5, of=made)


def _all_broadcasts(check: ClaimCheck, ports: str) -> Iterator[Schedule]:
    """Every broadcast of the catalogue under a port model, of one message and of some."""
    topology = check.topology
    for rule in algorithms_on(topology, "broadcast"):
        if ports in rule.ports and rule.cut_by is not None:
            copies = (
                (1, topology.degree)
                if any(one.name == "copies" for one in rule.arguments)
                else (0,)
            )
            for pieces in (1, 2):
                for several in copies:
                    given: dict[str, Any] = {
                        rule.cut_by: pieces,
                        **({"copies": several} if several else {}),
                    }
                    yield check.objects.schedule(
                        topology.spec, "broadcast", rule.name, ports, **given
                    )


def _arrivals(made: Schedule) -> NDArray[np.int64]:
    """The step in which every node first gets anything; 0 at the source, one after the last step where that is never."""
    first = np.full(made.topology.nodes, made.steps + 1, dtype=np.int64)
    np.minimum.at(first, made.receiver, made.step.astype(np.int64))
    first[made.root] = 0
    return first


@check("SLC.LB-oneport", bytes_per_node=_rows)
def _one_port_bound(check: ClaimCheck) -> None:
    nodes = factorial(check.topology.n)
    for made in _all_broadcasts(check, "one"):
        took = check.execute(made)
        have = np.cumsum(np.bincount(_arrivals(made))[: made.steps + 1])
        check.at_most(
            "nodes that have anything", have[1:], 2 * have[:-1], step=lambda t: t + 1, of=made
        )
        check.at_least("steps", took.steps, (nodes - 1).bit_length(), of=made)
    check.order(
        "n log2 n / ceil(log2 n!)", lambda n: divided(n * log2(n), rounded_up(log2(factorial(n))))
    )


@check("SLC.LB-allport", bytes_per_node=_rows)
def _all_port_bound(check: ClaimCheck) -> None:
    topology = check.topology
    check.equal(
        "greatest distance", bfs.diameter(check.objects, topology.spec), diameter(topology.n)
    )
    for made in _all_broadcasts(check, "all"):
        took = check.execute(made)
        distances = bfs.distances(check.objects, topology.spec, made.root)
        check.at_least(
            "step in which a node is reached",
            _arrivals(made),
            distances,
            node=topology.label,
            of=made,
        )
        check.at_least("steps", took.steps, diameter(topology.n), of=made)
    check.order("n / D_n", lambda n: divided(n, diameter(n)))


def _all_port_steps(n: int, messages: int) -> int:
    return 2 * n - 4 + messages


def _one_port_steps(n: int, messages: int) -> int:
    return n * (n - 1) // 2 + (messages - 1) * (n - 1)


def _over_streams(
    steps: Callable[[int, int], int], order: Callable[[int, int], int], n: int
) -> Number:
    """The greatest quotient over all lengths of a stream: 1, powers of n on either side of it, and far beyond."""
    lengths = (1, 2, n, n**2, n**3, n**8, 10**6 * n**8)
    return greatest(divided(steps(n, messages), order(n, messages)) for messages in lengths)


@check("SLC.pipe", bytes_per_node=_rows)
def _stream(check: ClaimCheck) -> None:
    for messages in _STREAMS:
        made = _broadcast(check, messages=messages)
        check.equal(
            "steps",
            check.execute(made).steps,
            _all_port_steps(check.topology.n, messages),
            M=messages,
            of=made,
        )
    check.order(
        "(2n - 4 + M) / (M + n)",
        partial(_over_streams, _all_port_steps, lambda n, messages: messages + n),
    )


@check("SLC.one", bytes_per_node=_rows)
def _stream_one_port(check: ClaimCheck) -> None:
    for messages in _STREAMS:
        made = _broadcast(check, messages=messages, ports="one")
        check.equal(
            "steps",
            check.execute(made).steps,
            _one_port_steps(check.topology.n, messages),
            M=messages,
            of=made,
        )

    def order(n: int, messages: int) -> int:
        return messages * n + n**2

    check.order(
        "(n(n-1)/2 + (M-1)(n-1)) / (M n + n^2)", partial(_over_streams, _one_port_steps, order)
    )
    plain = check.reading("n-1 sub-slots in place of each all-port step, (n-1)(2n-4+M) steps")
    plain.order(
        "(n-1)(2n-4+M) / (M n + n^2)",
        partial(_over_streams, lambda n, m: (n - 1) * _all_port_steps(n, m), order),
    )
