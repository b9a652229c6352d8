"""Sheu, Liaw & Chen 1993: the broadcast in 2n-3 steps, its lower bounds and its streams."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import checkers, permutations
from starcast.claims.declaration import Family, only, stars
from starcast.claims.formulas import diameter
from starcast.claims.growth import Number, divided, factorial, greatest, log2, rounded_up
from starcast.claims.instruments import searching
from starcast.claims.instruments.naming import of_row
from starcast.claims.instruments.star_labels import symbols
from starcast.claims.papers.tseng_sheu_trees import sized
from starcast.claims.see import See
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.model import BYTES_PER_ROW, Schedule
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

FAMILY = Family("sheu_liaw_chen")
claim = FAMILY.claim
_STREAMS = (1, 2, 3, 7)


def _rows(where: Topology) -> int:
    """The bytes a node of the largest schedule here."""
    return BYTES_PER_ROW * max(_STREAMS) * where.degree


@claim(
    "SLC.size",
    "Section 2",
    stars(7, 8, 9),
    "S_n has n! nodes, n-1 links at each, and floor(3(n-1)/2) as greatest distance.",
    reading="The scan has lost which brackets these are: the floor, which a whole number of links asks for and [2] has.",
)
def _size(see: See) -> None:
    sized(see)
    found = searching.diameter(see.lab, see.where.spec)
    see.reading("the brackets as the ceiling").equal(
        "greatest distance", found, ceil_div(3 * (see.where.n - 1), 2)
    )


@claim(
    "SLC.substars",
    "Section 2",
    stars(7, 8, 8),
    "The nodes with one symbol in position p, p = 2..n, are joined by their links but those of dimension p as S_{n-1} is, and "
    "the latter lead to other substars. In S_4 the nodes that end with 1 are joined as S_3, those that end with 23 as S_2.",
)
def _substars(see: See) -> None:
    where, n = see.where, see.where.n
    rows, across = symbols(see.lab, where), see.lab.neighbours(where.spec)
    smaller = see.lab.neighbours(f"S{n - 1}")
    for p in range(1, n):
        fixed = rows[:, p]
        see.equal(
            f"nodes with a symbol in position {p + 1}",
            np.bincount(fixed, minlength=n + 1)[1:],
            factorial(n - 1),
        )
        rest = np.delete(rows, p, axis=1)
        node = permutations.rank(rest - (rest > fixed[:, None]))
        each = np.unique(fixed.astype(np.int64) * where.nodes + node)
        see.equal("nodes of S_{n-1} that the substars stand for", len(each), factorial(n))
        inside = np.delete(across, p - 1, axis=0)
        see.equal(
            "substar across a link", fixed[inside], fixed[None], node=lambda _, v: where.label(v)
        )
        see.equal(
            "links of the substars",
            node[inside],
            smaller[:, node],
            node=lambda _, v: where.label(v),
        )
        see.true(
            f"dimension {p + 1} leaves the substar", fixed[across[p - 1]] != fixed, node=where.label
        )
    if n == 4:
        for ending in ("1", "23"):
            _ending(see, ending)


def _ending(see: See, ending: str) -> None:
    """The nodes that end so are joined over the dimensions of the other positions as a star graph is."""
    where, i = see.where, see.where.n - len(ending)
    nodes = np.array([v for v in range(where.nodes) if where.label(v).endswith(ending)])
    first = symbols(see.lab, where)[nodes, :i]
    small = permutations.rank(
        np.argsort(np.argsort(first, axis=1), axis=1).astype(np.uint8) + np.uint8(1)
    )
    see.equal(f"nodes of S_{i}({ending})", len(nodes), factorial(i))
    see.equal(
        f"nodes of S_{i}({ending}) as those of S_{i}", np.sort(small), np.arange(factorial(i))
    )
    image = np.full(where.nodes, -1)
    image[nodes] = small
    inside = image[see.lab.neighbours(where.spec)[: i - 1, nodes]]
    see.equal(
        f"links of S_{i}({ending})",
        inside,
        see.lab.neighbours(f"S{i}")[:, small],
        node=lambda _, v: where.label(int(nodes[v])),
    )


def _broadcast(see: See, root: int = 0, messages: int = 1, ports: str = "all") -> Schedule:
    return see.lab.schedule(
        see.where.spec, "broadcast", "recursive-substar", ports, root, messages=messages
    )


@claim(
    "SLC.L3",
    "Lemma 3",
    stars(7, 8, 9),
    "In `recursive-substar`, all-port, the message crosses a link of dimension n into every substar of the nodes with one last "
    "symbol but the source's own once, the last time in step 2.",
    weight=_rows,
)
def _two_steps(see: See) -> None:
    where, n, rows = see.where, see.where.n, symbols(see.lab, see.where)
    for root in searching.roots(where):
        made = _broadcast(see, root)
        see.executed(made)
        into = rows[made.receiver, -1]
        enters = rows[made.sender, -1] != into
        own = rows[root, -1]
        entered = np.bincount(into[enters], minlength=n + 1)[1:]
        stated = (np.arange(1, n + 1) != own).astype(np.int64)
        at = where.label(root)
        see.equal(
            "links that enter a substar", entered, stated, node=at, symbol=lambda s: s + 1, of=made
        )
        see.equal("port of such a link", made.port[enters], n, node=at, of=made)
        see.equal(
            "step in which the last substar is entered",
            made.step[enters].max(initial=0),
            2,
            node=at,
            of=made,
        )
        early = into[made.step <= 2]
        inside = [symbol in early for symbol in range(1, n + 1) if symbol != own]
        see.true("two steps bring the message to a substar", inside, node=at, of=made)


@claim(
    "SLC.once",
    "Section 2",
    stars(7, 8, 9),
    "In `recursive-substar`, all-port, every node but the source receives the message once, and the source never.",
    weight=_rows,
)
def _once(see: See) -> None:
    where = see.where
    for root in searching.roots(where):
        made = _broadcast(see, root)
        see.executed(made)
        stated = (np.arange(where.nodes) != root).astype(np.int64)
        received = np.bincount(made.receiver, minlength=where.nodes)
        see.equal(
            "times that a node receives the message", received, stated, node=where.label, of=made
        )


@claim(
    "SLC.T4",
    "Theorem 4",
    stars(7, 8, 9),
    "`recursive-substar`, all-port, ends in step 2n - 3.",
    weight=_rows,
)
def _steps(see: See) -> None:
    where = see.where
    for root in searching.roots(where):
        made = _broadcast(see, root)
        see.equal(
            "number of the last step",
            see.executed(made).steps,
            2 * where.n - 3,
            node=where.label(root),
            of=made,
        )
    tree = see.lab.forest(where.spec, "recursive-substar")
    height = checkers.height(where, tree.parent_port, tree.root, bound=where.nodes).measured
    see.equal("height of the tree", height, 2 * where.n - 3, of=tree)


@claim(
    "SLC.ports",
    "Section 2",
    stars(7, 8, 8),
    "In `recursive-substar`, all-port, every row of a step has a directed link of its own, and none leads back over the link "
    "by which its sender got the message; also in a stream of messages.",
    weight=_rows,
)
def _ports(see: See) -> None:
    where = see.where
    for messages in _STREAMS:
        made = _broadcast(see, messages=messages)
        see.executed(made)
        link = of_row(made)
        crossed = (made.step.astype(np.int64) * where.nodes + made.sender) * 256 + made.port
        _, which, count = np.unique(crossed, return_inverse=True, return_counts=True)
        see.equal(
            "messages on a link in a step",
            count[which],
            1,
            M=messages,
            step=made.step,
            link=link,
            of=made,
        )
        came = np.full((where.nodes, made.units), -1, dtype=np.int64)
        came[made.receiver, made.unit] = made.sender
        back = came[made.sender, made.unit] == made.receiver
        see.equal(
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


@claim(
    "SLC.ex",
    "Section 2, Figures 2 and 3",
    only("S4"),
    "`recursive-substar` on S_4 from 1234: in step 1 to 2134, 3214, 4231; in step 2 4231 sends to 2431, 3241, 2134 to 3124, "
    "4132, 3214 to 2314, 4213; the last step is step 5.",
)
def _example(see: See) -> None:
    where, made = see.where, _broadcast(see)
    took = see.executed(made)
    for step, sent in _EXAMPLE.items():
        senders = np.unique(made.sender[made.step == step])
        see.equal(
            "senders",
            " ".join(where.label(int(v)) for v in senders),
            " ".join(sent),
            step=step,
            of=made,
        )
        for sender, stated in sent.items():
            chosen = (made.step == step) & (made.sender == where.rank(sender))
            found = sorted(where.label(int(v)) for v in made.receiver[chosen])
            see.equal("receivers", " ".join(found), stated, step=step, node=sender, of=made)
    see.equal("number of the last step", took.steps, 5, of=made)


def _all_broadcasts(see: See, ports: str) -> Iterator[Schedule]:
    """Every broadcast of the catalogue under a port model, of one message and of some."""
    where = see.where
    for rule in algorithms_on(where, "broadcast"):
        if ports in rule.ports and rule.split_argument is not None:
            copies = (
                (1, where.degree) if any(one.name == "copies" for one in rule.arguments) else (0,)
            )
            for pieces in (1, 2):
                for several in copies:
                    given: dict[str, Any] = {
                        rule.split_argument: pieces,
                        **({"copies": several} if several else {}),
                    }
                    yield see.lab.schedule(where.spec, "broadcast", rule.name, ports, **given)


def _arrivals(made: Schedule) -> NDArray[np.int64]:
    """The step in which every node first gets anything; 0 at the source, one after the last step where that is never."""
    first = np.full(made.topology.nodes, made.steps + 1, dtype=np.int64)
    np.minimum.at(first, made.receiver, made.step.astype(np.int64))
    first[made.root] = 0
    return first


@claim(
    "SLC.LB-oneport",
    "Section 2, after Theorem 4",
    stars(6, 7, 7),
    "One-port, a step at most doubles the nodes that have anything, so that a broadcast takes ceil(log2 n!) steps, of order "
    "n log n; every one-port broadcast of the catalogue takes as many.",
    weight=_rows,
)
def _one_port_bound(see: See) -> None:
    nodes = factorial(see.where.n)
    for made in _all_broadcasts(see, "one"):
        took = see.executed(made)
        have = np.cumsum(np.bincount(_arrivals(made))[: made.steps + 1])
        see.at_most(
            "nodes that have anything", have[1:], 2 * have[:-1], step=lambda t: t + 1, of=made
        )
        see.at_least("steps", took.steps, (nodes - 1).bit_length(), of=made)
    see.order(
        "n log2 n / ceil(log2 n!)", lambda n: divided(n * log2(n), rounded_up(log2(factorial(n))))
    )


@claim(
    "SLC.LB-allport",
    "Section 2, after Theorem 4",
    stars(6, 7, 7),
    "All-port, nothing comes to a node before the step of its distance from the source, so that a broadcast takes D_n steps, "
    "of order n; every all-port broadcast of the catalogue takes as many.",
    weight=_rows,
)
def _all_port_bound(see: See) -> None:
    where = see.where
    see.equal("greatest distance", searching.diameter(see.lab, where.spec), diameter(where.n))
    for made in _all_broadcasts(see, "all"):
        took = see.executed(made)
        distances = searching.distances(see.lab, where.spec, made.root)
        see.at_least(
            "step in which a node is reached", _arrivals(made), distances, node=where.label, of=made
        )
        see.at_least("steps", took.steps, diameter(where.n), of=made)
    see.order("n / D_n", lambda n: divided(n, diameter(n)))


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


@claim(
    "SLC.pipe",
    "Section 3",
    stars(6, 7, 8),
    "A stream of M messages down `recursive-substar`, all-port, takes 2n - 4 + M steps, which is O(M + n).",
    weight=_rows,
)
def _stream(see: See) -> None:
    for messages in _STREAMS:
        made = _broadcast(see, messages=messages)
        see.equal(
            "steps",
            see.executed(made).steps,
            _all_port_steps(see.where.n, messages),
            M=messages,
            of=made,
        )
    see.order(
        "(2n - 4 + M) / (M + n)",
        partial(_over_streams, _all_port_steps, lambda n, messages: messages + n),
    )


@claim(
    "SLC.one",
    "Section 3",
    stars(6, 7, 8),
    "A stream of M messages down `recursive-substar`, one-port, takes n(n-1)/2 + (M-1)(n-1) steps, which is O(M n + n^2).",
    reading="The paper does not say how a node takes turns: the house's order of turns is executed.",
    weight=_rows,
)
def _stream_one_port(see: See) -> None:
    for messages in _STREAMS:
        made = _broadcast(see, messages=messages, ports="one")
        see.equal(
            "steps",
            see.executed(made).steps,
            _one_port_steps(see.where.n, messages),
            M=messages,
            of=made,
        )

    def order(n: int, messages: int) -> int:
        return messages * n + n**2

    see.order(
        "(n(n-1)/2 + (M-1)(n-1)) / (M n + n^2)", partial(_over_streams, _one_port_steps, order)
    )
    plain = see.reading("n-1 sub-slots in place of each all-port step, (n-1)(2n-4+M) steps")
    plain.order(
        "(n-1)(2n-4+M) / (M n + n^2)",
        partial(_over_streams, lambda n, m: (n - 1) * _all_port_steps(n, m), order),
    )
