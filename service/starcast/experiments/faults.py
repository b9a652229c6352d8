"""The faults of a point: named by whoever writes the grid, or drawn by lot before anybody knows the schedule."""

import re
from collections.abc import Iterable

import numpy as np

from starcast.errors import InputError
from starcast.topologies import Topology

#: What stands where nothing is faulty.
NONE = "none"

_DRAWN = re.compile(r"([1-9]\d{0,8}) (node|link)s?", re.ASCII)
_NAMED = re.compile(r"([^@\s-]+)(?:-([^@\s-]+))?(?:@(\d{1,9}))?", re.ASCII)
_KINDS = {"node", "nodes", "link", "links"}
_HINT = "write none, '2 nodes', '1 link', or labels such as '21345 12345-21345@3'"


def spoken(words: str) -> str:
    """One value of the axis ``faults`` with its blanks in order.

    Raises:
        InputError: it reads like none.
    """
    plain = " ".join(words.split())
    if plain == NONE or _DRAWN.fullmatch(plain):
        return plain
    named = plain.split()
    if not named or _KINDS & set(named) or not all(_NAMED.fullmatch(word) for word in named):
        raise InputError(f"faults is '{plain}', which names no faults", hint=_HINT)
    return plain


def is_drawn(words: str) -> bool:
    """Whether these faults are drawn by lot."""
    return _DRAWN.fullmatch(words) is not None


def faults(topology: Topology, words: str, seed: int) -> tuple[str, ...]:
    """The faults that one value of the axis means on a topology, as `canonical` writes them.

    Args:
        where: the topology; the root is its identity.
        words: ``none``, ``2 nodes``, ``1 link``, or nodes and links by their labels.
        seed: decides the lot. The same topology, words and seed give the same faults, whatever the algorithm.

    Raises:
        InputError: there are not so many nodes or links, or a label is none.
    """
    if words == NONE:
        return ()
    drawn = _DRAWN.fullmatch(words)
    if drawn is None:
        return canonical(topology, words.split())
    amount, kind = int(drawn[1]), drawn[2]
    most = topology.nodes - 1 if kind == "node" else topology.links
    if amount > most:
        besides = " besides the root" if kind == "node" else ""
        raise InputError(
            f"{topology.spec} has no {amount} {kind}s{besides} to fail", hint=f"it has {most}"
        )
    lot = np.random.default_rng(seed)
    return canonical(
        topology, _nodes(topology, amount, lot) if kind == "node" else _links(topology, amount, lot)
    )


def canonical(topology: Topology, named: Iterable[str]) -> tuple[str, ...]:
    """Faults as `starcast.simulator.Fault` writes them, each once, by rank: nodes first, a link's lower rank first.

    Raises:
        InputError: a label is no node, two nodes are not linked, or a step is 0.
    """
    return tuple(word for _, word in sorted({_read(topology, word) for word in named}))


def _nodes(topology: Topology, amount: int, lot: np.random.Generator) -> list[str]:
    """Nodes, all equally likely but the root, which is of rank 0."""
    ranks = 1 + lot.choice(topology.nodes - 1, size=amount, replace=False)
    return [str(label) for label in topology.labels(ranks)]


def _links(topology: Topology, amount: int, lot: np.random.Generator) -> list[str]:
    """Undirected links, all equally likely: each stands twice among the directed ones, so that twice as many suffice."""
    rank, place = np.divmod(
        lot.choice(topology.nodes * topology.degree, size=2 * amount, replace=False),
        topology.degree,
    )
    other = topology.step(np.array(topology.ports, dtype=np.uint8)[place], rank)
    pairs = dict.fromkeys(
        zip(np.minimum(rank, other).tolist(), np.maximum(rank, other).tolist(), strict=True)
    )
    return [f"{topology.label(one)}-{topology.label(two)}" for one, two in list(pairs)[:amount]]


def _read(topology: Topology, word: str) -> tuple[tuple[int, ...], str]:
    named = _NAMED.fullmatch(word)
    if named is None:
        raise InputError(f"'{word}' is no fault", hint=_HINT)
    try:
        ends = sorted(topology.rank(label) for label in named.groups()[:2] if label is not None)
    except InputError as error:
        raise InputError(
            f"the fault '{word}' is none of {topology.spec}: {error.message}", hint=error.hint
        ) from None
    step = int(named[3] or 1)
    if step < 1:
        raise InputError(f"the fault '{word}' begins in step {step}", hint="steps count from 1")
    if len(ends) == 2 and not _linked(topology, *ends):
        raise InputError(
            f"the fault '{word}' is no link of {topology.spec}",
            hint="a faulty link is a pair of neighbours",
        )
    label = "-".join(topology.label(end) for end in ends)
    return (len(ends), *ends, step), label if step == 1 else f"{label}@{step}"


def _linked(topology: Topology, one: int, other: int) -> bool:
    return any(int(topology.neighbours(port, [one])[0]) == other for port in topology.ports)
