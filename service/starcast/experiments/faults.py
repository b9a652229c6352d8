"""The faults of a point: named in the grid, or drawn at random independently of the schedule."""

from collections.abc import Iterable

import numpy as np

from starcast.support.axes import FAULTS_HINT, NONE, drawn_faults, split_fault
from starcast.support.errors import InputError
from starcast.topologies import Topology


def resolve_faults(topology: Topology, text: str, seed: int) -> tuple[str, ...]:
    """Return the faults that one value of the axis stands for on a topology.

    Args:
        topology: the topology; its root is the identity, which is never drawn.
        text: ``none``, ``2 nodes``, ``1 link``, or labels of nodes and links.
        seed: the random seed. The same topology, text and seed give the same faults for every
            algorithm.

    Returns:
        The faults as written by `canonical_faults`.

    Raises:
        InputError: the topology has too few nodes or links, or a label is not valid.
    """
    if text == NONE:
        return ()
    drawn = drawn_faults(text)
    if drawn is None:
        return canonical_faults(topology, text.split())
    amount, kind = drawn
    most = topology.nodes - 1 if kind == "node" else topology.links
    if amount > most:
        besides = " besides the root" if kind == "node" else ""
        raise InputError(
            f"{topology.spec} has fewer than {amount} {kind}s{besides}", hint=f"it has {most}"
        )
    draw = _draw_nodes if kind == "node" else _draw_links
    return canonical_faults(topology, draw(topology, amount, np.random.default_rng(seed)))


def canonical_faults(topology: Topology, named: Iterable[str]) -> tuple[str, ...]:
    """Return faults as `starcast.judges.simulator.Fault` writes them, without repetition.

    They are sorted by rank, nodes before links; a link begins with its lower rank.

    Raises:
        InputError: a label is not a node, two nodes are not linked, or a step is 0.
    """
    return tuple(word for _, word in sorted({_read_fault(topology, word) for word in named}))


def _draw_nodes(topology: Topology, amount: int, random: np.random.Generator) -> list[str]:
    """Draw nodes with equal probability; the root, which has rank 0, is excluded."""
    ranks = 1 + random.choice(topology.nodes - 1, size=amount, replace=False)
    return [str(label) for label in topology.labels(ranks)]


def _draw_links(topology: Topology, amount: int, random: np.random.Generator) -> list[str]:
    """Draw undirected links with equal probability.

    Every undirected link consists of two directed links, so twice as many directed links suffice.
    """
    # Directed links are drawn, since they can be numbered. Two of them may be the same undirected
    # link, so twice as many are enough.
    directed = random.choice(topology.nodes * topology.degree, size=2 * amount, replace=False)
    rank, place = np.divmod(directed, topology.degree)
    other = topology.step(np.array(topology.ports, dtype=np.uint8)[place], rank)
    ends = zip(np.minimum(rank, other).tolist(), np.maximum(rank, other).tolist(), strict=True)
    links = list(dict.fromkeys(ends))[:amount]
    return [f"{topology.label(low)}-{topology.label(high)}" for low, high in links]


def _read_fault(topology: Topology, word: str) -> tuple[tuple[int, ...], str]:
    fault = split_fault(word)
    if fault is None:
        raise InputError(f"'{word}' is not a fault", hint=FAULTS_HINT)
    labels, step = fault
    try:
        ends = sorted(map(topology.rank, labels))
    except InputError as error:
        raise InputError(
            f"the fault '{word}' is not on {topology.spec}: {error.message}", hint=error.hint
        ) from None
    if step < 1:
        raise InputError(f"the fault '{word}' begins in step {step}", hint="steps count from 1")
    neighbours = _neighbours(topology, ends[0])
    if len(ends) == 2 and topology.label(ends[1]) not in neighbours:
        raise InputError(
            f"'{word}' is not a link of {topology.spec}: the two nodes are not adjacent",
            hint=f"{topology.label(ends[0])} is adjacent to {', '.join(neighbours)}",
        )
    label = "-".join(topology.label(end) for end in ends)
    return (len(ends), *ends, step), label if step == 1 else f"{label}@{step}"


def _neighbours(topology: Topology, rank: int) -> list[str]:
    """Return the labels of a node's neighbours, by port."""
    ranks = [int(topology.neighbours(port, [rank])[0]) for port in topology.ports]
    return [topology.label(neighbour) for neighbour in ranks]
