"""Faults of an experiment: given by labels in the grid, or drawn at random.

Random faults do not depend on the schedule, so that all algorithms are compared under the same
faults.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from starcast.support.axes import NONE, RESERVED, drawn_faults
from starcast.support.errors import InputError
from starcast.topologies import Topology

if TYPE_CHECKING:
    from starcast.judges.simulator import Fault


def resolve_faults(topology: Topology, text: str, seed: int, root: int = 0) -> tuple[str, ...]:
    """Return the faults for a value of the axis ``faults``, either as given or drawn at random.

    Args:
        topology: the topology. Random faults are drawn among all nodes, including switches, or
            among all links.
        text: ``none``, ``2 nodes``, ``1 link``, or labels of nodes and links.
        seed: the random seed. For the same topology, text, seed and root, the faults are the same
            for every algorithm.
        root: the rank of the root, which is never drawn.

    Returns:
        The faults in the canonical form that `canonical_faults` defines.

    Raises:
        InputError: the topology has too few nodes or links, or a given fault is invalid.
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
            f"{topology.spec} has fewer than {amount} {kind}s{besides}", hint=f"use at most {most}"
        )
    random = np.random.default_rng(seed)
    if kind == "link":
        return canonical_faults(topology, _draw_links(topology, amount, random))
    ranks = random.choice(topology.nodes - 1, size=amount, replace=False)
    ranks += ranks >= root  # the root is skipped
    return canonical_faults(topology, map(str, topology.labels(ranks)))


def canonical_faults(topology: Topology, named: Iterable[str]) -> tuple[str, ...]:
    """Return faults in the notation of `starcast.judges.simulator.Fault`, without repetition.

    The faults are sorted by rank, nodes before links. The two nodes of a link are in the order of
    their ranks. If a node's label is a reserved word, such as ``none``, the faulty node is written
    ``none@1``.

    Raises:
        InputError: a fault is malformed, names a node or link that does not exist, or has the step
            0.
    """

    def position(fault: "Fault") -> tuple[int, ...]:
        return (len(fault.ends), *map(topology.node, fault.ends), fault.step)

    faults = {_place_fault(topology, word) for word in named}
    texts = map(str, sorted(faults, key=position))
    return tuple(f"{text}@1" if text in RESERVED else text for text in texts)


def _draw_links(topology: Topology, amount: int, random: np.random.Generator) -> list[str]:
    """Draw different undirected links, all with equal probability; return names of the links."""
    if not topology.has_translations:
        every = [(low, end) for low in range(topology.nodes) for end in topology.linked(low)]
        undirected = [(low, end) for low, end in every if low < end]
        drawn = random.choice(len(undirected), size=amount, replace=False)
        return [_name_link(topology, *undirected[number]) for number in drawn.tolist()]
    # Directed links are drawn, because they are easy to number. An undirected link is drawn at
    # most twice, once per direction, so 2 * amount directed links contain at least ``amount``
    # undirected links.
    directed = random.choice(topology.nodes * topology.degree, size=2 * amount, replace=False)
    rank, place = np.divmod(directed, topology.degree)
    other = topology.step(np.array(topology.ports, dtype=np.uint8)[place], rank)
    ends = zip(np.minimum(rank, other).tolist(), np.maximum(rank, other).tolist(), strict=True)
    links = list(dict.fromkeys(ends))[:amount]
    return [_name_link(topology, *link) for link in links]


def _name_link(topology: Topology, low: int, high: int) -> str:
    return f"{topology.label(low)}-{topology.label(high)}"


def _place_fault(topology: Topology, word: str) -> "Fault":
    # Comparisons import this module but do not need the simulator, so it is imported only here.
    from starcast.judges.simulator import Fault  # noqa: PLC0415

    fault = Fault.parse(word)
    try:
        return fault.on(topology)
    except InputError as error:
        raise InputError(
            f"the fault '{word}' is not valid on {topology.spec}: {error.message}", hint=error.hint
        ) from None
