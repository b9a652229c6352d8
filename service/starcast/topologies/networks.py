"""`Network`, a topology given by its links; `network_building.py` builds one from a graph.

The ports of a network are the colours of a proper link colouring (`colouring.py`), so the links at
each port form a matching, and crossing a port twice leads back, as it does on star graphs.

The spec of a network is its name and the first six hexadecimal digits of a SHA-256 of its labels,
switches, links, capacities and latencies. A process registers each network that it builds or reads,
so that `starcast.topology` can return the network for its spec. A network in the store of an open
lab is read when its spec is first used; see `starcast.support.resolvers`.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from math import lcm
from operator import eq
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.arrays import Integers, freeze
from starcast.support.errors import (
    InputError,
    LimitError,
    RejectedError,
)
from starcast.support.text import did_you_mean
from starcast.support.vocabulary import EXPANDED, LABEL
from starcast.topologies import memory
from starcast.topologies.base import MAX_SEARCHES, MAX_UINT8_DISTANCE, Topology
from starcast.topologies.colouring import colour_links
from starcast.topologies.permutations import Ranks

#: The pattern of network names, with which network specs begin.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.]{0,42}")
#: The pattern of network specs; no family has specs of this form.
_SPEC = re.compile(NAME.pattern + "-[0-9a-f]{6}")
_LONGEST_LABEL = 40
_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9_.]")
#: Characters of titles that a store cannot contain, or that a page or a terminal cannot show.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
#: The maximum degree. Ports are uint8, and a colouring may need one port more than the degree.
MAX_DEGREE = 253
#: The maximum number of nodes for `distance_profile`, which needs a search from every node.
MAX_PROFILE_NODES = 5_000
#: Approximate limit on the number of directed links that all searches for a diameter follow.
#: Following this many links takes a few seconds.
_MAX_FOLLOWED = 10**8

#: The largest allowed least common multiple of a network's capacities. The simulator counts time in
#: ticks that are short enough for the times on all links to be integers. If the multiple were
#: larger, ticks would be too short.
MAX_COMMON_CAPACITY = 10**6
#: The largest latency of a link, in the unit of T_s.
MAX_LATENCY = 10**9
#: Bytes of memory that building a network needs per link, and per node and port.
_LINK_BYTES, _PORT_BYTES = 500, 12
LOOP = "a link joins '%s' to itself"
_DAMAGED = "get the network again from its source, because the stored network is damaged"

_known: dict[str, "Network"] = {}


class Network(Topology):
    """A connected graph that is given by its links; `starcast.network` builds one.

    Endpoints are ranked before switches. Within each group, nodes are ranked by label. Labels
    that are numbers come first, by value; all others follow, by code points.

    Args:
        name: the first part of the spec.
        titles: the title of each node, such as its name in the source.
        links: pairs of indices of ``titles``; repeated links count once.
        labels: the label of each node. By default, labels are made from titles, which must then be
            unique: characters other than letters, digits, ``_`` and ``.`` are replaced by ``_``,
            and equal labels get the suffixes ``.2``, ``.3``, ..
        ports: the port of each link; by default, the colours of a link colouring.
        positions: the coordinates of each node in a drawing, ``[nodes, 2]``.
        switches: the nodes that only forward, as indices of ``titles``.
        capacities: the capacity of each link, a positive integer (default: 1 for all links).
        latencies: the latency of each link in the unit of T_s, a non-negative integer (default: 0
            for all links).
        capacity_unit: the capacity that a value of 1 in ``capacities`` represents; see `Topology`.
        source: the origin of the network, such as a paper or a data set.
        licence: the licence of the source.

    Attributes:
        name: the first part of the spec.
        titles: the title of each node, by rank.
        positions: the coordinates of the nodes by rank, float ``[nodes, 2]``, or None.
        capacity_unit: the capacity that a value of 1 in ``capacities`` represents; see `Topology`.
        sha256: the SHA-256 of labels, switches, links, capacities and latencies.
        source: the origin of the network, or an empty string.
        licence: the licence of the source, or an empty string.

    Raises:
        InputError: a link joins a node to itself or to a node that does not exist, a switch does
            not exist, a node has too many links, the graph is empty or not connected, fewer than
            two nodes are endpoints, labels are not given and two titles are equal, or given labels,
            ports, capacities or latencies are invalid.
        LimitError: the network does not fit into memory.
    """

    family = "network"
    k = None
    titles: tuple[str, ...]
    positions: NDArray[np.float64] | None
    capacity_unit: float
    name: str
    source: str
    licence: str
    sha256: str

    def __init__(
        self,
        name: str,
        titles: Sequence[str],
        links: ArrayLike,
        *,
        labels: Sequence[str] | None = None,
        ports: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        switches: Collection[int] = (),
        capacities: Sequence[int] | None = None,
        latencies: Sequence[int] | None = None,
        capacity_unit: float = 1.0,
        source: str = "",
        licence: str = "",
    ) -> None:
        # JSON and the stores cannot contain unpaired surrogates, but file names may contain them.
        self.name = name
        self.source, self.licence = (_UNPRINTABLE.sub("\ufffd", str(x)) for x in (source, licence))
        self.capacity_unit = capacity_unit
        switches = {*switches}
        titles = [_UNPRINTABLE.sub("\ufffd", title) for title in titles]
        if labels is None:
            check_titles(titles)
            labels = as_labels(titles)
        else:
            labels = _check_labels(labels, titles)
        if not switches <= {*range(len(labels))}:
            raise InputError(
                f"a switch of the network '{name}' is a node that does not exist",
                hint=f"use numbers of nodes, from 0 to {len(labels) - 1}",
            )
        order = sorted(
            range(len(labels)), key=lambda node: (node in switches, *_sort_key(labels[node]))
        )
        self.titles = tuple(titles[node] for node in order)
        self.positions = None if positions is None else freeze(np.array(positions, float)[order])
        self._labels = freeze(np.array([labels[node] for node in order], dtype=np.str_))
        self.n = self.nodes = len(order)
        self._endpoints = self.nodes - len(switches)
        if switches and self._endpoints < 2:
            but = " but one" if self._endpoints else ""
            raise InputError(
                f"every node of '{name}'{but} is a switch",
                hint="declare fewer switches: at least two nodes must not be switches",
            )
        ranks = np.argsort(order)
        ends = np.asarray(links, dtype=np.int64).reshape(-1, 2)
        if len(ends) and not 0 <= ends.min() <= ends.max() < self.nodes:
            raise InputError(
                f"a link of the network '{name}' joins a node that does not exist",
                hint=f"use numbers of nodes, from 0 to {self.nodes - 1}",
            )
        given = np.sort(ranks[ends], axis=1)
        for rank in given[given[:, 0] == given[:, 1], 0][:1]:
            raise InputError(LOOP % self.titles[rank], hint="remove the link")
        pairs, first = np.unique(given, axis=0, return_index=True)
        self._check_degrees(pairs)
        colours = None if ports is None else np.asarray(ports)[first]
        self.ports, self._table = _number_ports(self.nodes, pairs, colours)
        arcs = np.concatenate([pairs, pairs[:, ::-1]])
        arcs = arcs[np.lexsort(arcs.T[::-1])]
        self._ends = freeze(arcs[:, 1])
        self._offsets = freeze(np.searchsorted(arcs[:, 0], np.arange(self.nodes)))
        self._check_connected()
        content: dict[str, Any] = {"labels": self._labels.tolist(), "links": pairs.tolist()}
        if switches:
            content["endpoints"] = self._endpoints
        for key, values in (
            ("capacities", _check_capacities(capacities)),
            ("latencies", _check_latencies(latencies)),
        ):
            if values is None:
                continue
            if len(values) != len(given):
                raise InputError(
                    f"the number of {key} of '{name}' is {len(values):,}, but the number of links"
                    f" is {len(given):,}",
                    hint="specify one number for each link",
                )
            content[key] = [values[index] for index in first.tolist()]
            setattr(self, key, self._by_port(pairs, content[key]))
        self.sha256 = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        self.spec = f"{name}-{self.sha256[:6]}"

    def _by_port(self, pairs: NDArray[np.int64], values: Sequence[int]) -> NDArray[np.int64]:
        """Return the values of links as an array ``[ports, nodes]``; 0 where there is no link.

        Args:
            pairs: the ends of each link, ``[links, 2]``.
            values: the value of each link.
        """
        first, second = pairs.T
        rows = (self._table[:, first] == second).argmax(axis=0)
        out = np.zeros(self._table.shape, dtype=np.int64)
        out[rows, first] = out[rows, second] = values
        return freeze(out)

    @property
    def endpoints(self) -> int:
        """The number of nodes that are not switches; see `Topology.endpoints`."""
        return self._endpoints

    def _check_degrees(self, pairs: NDArray[np.int64]) -> None:
        if not len(pairs):
            raise InputError("the network has no links", hint="add at least one link")
        degrees = np.bincount(pairs.ravel(), minlength=self.nodes)
        node = int(degrees.argmax())
        if degrees[node] > MAX_DEGREE:
            raise InputError(
                f"the node '{self.titles[node]}' has {degrees[node]:,} links, which is too many",
                hint=f"use at most {MAX_DEGREE} links per node",
            )
        needed = _LINK_BYTES * len(pairs) + _PORT_BYTES * self.nodes * (int(degrees[node]) + 1)
        memory.require(needed, f"the ports of {len(pairs):,} links", "use a smaller network")

    def _check_connected(self) -> None:
        unreached = np.flatnonzero(self._search(0) < 0)
        if len(unreached):
            first, other = self.titles[0], self.titles[unreached[0]]
            raise InputError(
                f"the network is not connected: it has {self._count_parts():,} connected"
                f" components, and no path from '{first}' to '{other}'",
                hint="use a network in which every node can reach every other node",
            )

    def _count_parts(self) -> int:
        # One search per component would take too long if there are many components. Instead, each
        # node starts with its own rank, and repeatedly adopts the lowest value of its neighbours.
        lowest = np.arange(self.nodes)
        starts = np.repeat(lowest, self.degrees)
        while (lowest[starts] != lowest[self._ends]).any():
            np.minimum.at(lowest, starts, lowest[self._ends])
            lowest = lowest[lowest]
        return len(np.unique(lowest))

    @property
    def diameter(self) -> int:
        """The largest distance between two endpoints.

        Raises:
            LimitError: the exact diameter needs more breadth-first searches than the limit
                allows; the message contains a lower bound.
        """
        largest, is_exact = self._diameter
        if not is_exact:
            raise LimitError(
                f"the diameter of {self.spec} is not known: it is at least {largest}",
                hint="compute the distances from single nodes",
            )
        return largest

    @cached_property
    def _diameter(self) -> tuple[int, bool]:
        """A lower bound on the diameter (iFUB, Crescenzi et al. 2013), and whether it is exact."""
        middle = self._find_middle()
        levels = self._search(middle)[: self.endpoints]
        largest = 0 if middle >= self.endpoints else int(levels.max())
        searches = 0
        most = min(MAX_SEARCHES, max(1, _MAX_FOLLOWED // len(self._ends)))
        for level in range(int(levels.max()), 0, -1):
            # Two nodes whose levels are at most `level` are at most 2 * level links apart.
            if largest >= 2 * level:
                break
            for node in np.flatnonzero(levels == level).tolist():
                searches += 1
                if searches > most:
                    return largest, False
                largest = max(largest, int(self._search(node)[: self.endpoints].max()))
        return largest, True

    def _find_middle(self) -> int:
        """Return a node in the middle of a long shortest path, from which iFUB starts."""
        first = int(self._search(int(self.degrees.argmax())).argmax())
        from_first = self._search(first)
        last = int(from_first.argmax())
        on_path = from_first + self._search(last) == from_first[last]
        return int(np.flatnonzero(on_path & (from_first == from_first[last] // 2))[0])

    def port_links(self) -> NDArray[np.int32]:
        """Return the lower rank, the higher rank and the port of each link, int32 ``[links, 3]``.

        The rows are sorted.
        """
        ports, lower = np.nonzero(self._table > np.arange(self.nodes))
        rows = np.stack([lower, self._table[ports, lower], np.array(self.ports)[ports]], axis=1)
        return rows[np.lexsort(rows.T[::-1])].astype(np.int32)

    def as_json(self) -> dict[str, Any]:
        """Return the network as JSON values, from which `restore_network` builds the network."""
        return {
            "name": self.name,
            "sha256": self.sha256,
            "labels": self._labels.tolist(),
            "titles": list(self.titles),
            "links": self.port_links().tolist(),
            "positions": [] if self.positions is None else self.positions.tolist(),
            "endpoints": self.endpoints,
            "capacities": self._in_order(self.capacities),
            "latencies": self._in_order(self.latencies),
            "capacity_unit": self.capacity_unit,
            "source": self.source,
            "licence": self.licence,
        }

    def _in_order(self, values: NDArray[np.int64] | None) -> list[int]:
        """Convert the values of links, ``[ports, nodes]``, to a list in the order of `port_links`.

        If ``values`` is None, the list is empty.
        """
        if values is None:
            return []
        lower, _, ports = self.port_links().T
        return list(values[ports - 1, lower].tolist())

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of ordered pairs of endpoints at each distance.

        Raises:
            LimitError: the network has more than `MAX_PROFILE_NODES` nodes.
        """
        if self.nodes > MAX_PROFILE_NODES:
            raise LimitError(
                f"{self.spec} has {self.nodes:,} nodes, which is too many to compute the distances"
                " of all pairs",
                hint="compute the distances from single nodes",
            )
        counts = np.zeros(self.nodes, dtype=np.int64)
        for root in range(self.endpoints):
            found = np.bincount(self._search(root)[: self.endpoints])
            counts[: len(found)] += found
        return tuple(np.trim_zeros(counts, "b").tolist())

    def reverse_port(self, port: int) -> int:
        """Return the port itself, because the two ends of a link use the same port."""
        return self._check_port(port)

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across a port; see `Topology.neighbours`."""
        row = self._table[self._check_port(port) - 1]
        return np.array(row if ranks is None else row[self._check_ranks(ranks)], dtype=np.int32)

    def distances(self, root: int | str = 0) -> Integers:
        """Return the distance of every node from the root; see `Topology.distances`."""
        distances = self._search(self.node(root))
        return distances if distances.max() > MAX_UINT8_DISTANCE else distances.astype(np.uint8)

    def _search(self, root: int) -> NDArray[np.int32]:
        """Return the distances from the root, int32 ``[nodes]``, and -1 for unreachable nodes."""
        distances = np.full(self.nodes, -1, dtype=np.int32)
        last = np.empty(self.nodes, dtype=np.int32)
        frontier, distance = np.array([root]), 0
        while len(frontier):
            distances[frontier] = distance
            # The neighbours of node v are in the slice offsets[v]:offsets[v + 1] of `_ends`.
            starts, counts = self._offsets[frontier], self.degrees[frontier]
            shifts = np.repeat(starts - np.cumsum(counts) + counts, counts)
            ends = self._ends[shifts + np.arange(len(shifts))]
            ends = ends[distances[ends] < 0]
            # To remove duplicates, each node is kept only at its last place in the list. This is
            # faster than sorting.
            places = np.arange(len(ends), dtype=np.int32)
            last[ends] = places
            frontier = ends[last[ends] == places]
            distance += 1
        return distances

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of nodes; see `Topology.labels`."""
        return self._labels[slice(None) if ranks is None else self._check_ranks(ranks)]

    def rank(self, label: str) -> int:
        """Return the rank of the node with the given label.

        If no label is equal to the given label, the case of letters is ignored.

        Raises:
            InputError: no label matches, or several labels match if the case is ignored.
        """
        for found in (
            np.flatnonzero(self._labels == label),
            np.flatnonzero(np.char.lower(self._labels) == str(label).lower()),
        ):
            if len(found) == 1:
                return int(found[0])
        labels = self._labels[found if len(found) else slice(None)].tolist()
        raise InputError(
            f"'{label}' is not a node of {self.spec}",
            hint=f"{did_you_mean(str(label), labels)}choose one of {', '.join(labels[:3])}, ...",
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.family == Network.family:
            remember(self)


def remember(network: Network) -> Network:
    """Register a network under its spec; return it, or an identical network registered before.

    If the registered network has the same SHA-256, but other titles, positions, source, licence or
    capacity unit, it is replaced.

    Raises:
        InputError: a different network is registered under this spec, or the same network with
            different ports.
    """
    known = _known.setdefault(network.spec, network)
    if known is network:
        return network
    if known.sha256 != network.sha256:
        raise InputError(
            f"another network with the spec '{network.spec}' is already in use",
            hint="use another name",
        )
    # Another version of starcast may have coloured the links differently.
    if not np.array_equal(known.table(), network.table()):
        raise InputError(
            f"the network '{network.spec}' is already in use with different ports",
            hint="use the two networks in different processes",
        )
    # Titles, positions and the source do not affect the spec; the most recent values are kept.
    if _presentation(known) != _presentation(network):
        _known[network.spec] = network
    return _known[network.spec]


def _presentation(network: Network) -> tuple[Any, ...]:
    """Return titles, positions and other values that do not affect a network's SHA-256."""
    positions = None if network.positions is None else network.positions.tobytes()
    return network.titles, positions, network.capacity_unit, network.source, network.licence


def restore_network(stored: Mapping[str, Any]) -> Network:
    """Build a network from the values of `Network.as_json`, with the same ports, and register it.

    Raises:
        InputError: the values do not describe a network, or a different network is registered under
            its spec.
        LimitError: the network does not fit into memory.
        RejectedError: the network's SHA-256 differs from the stored one.
    """
    check_name(stored["name"])
    links = np.asarray(stored["links"], dtype=np.int64).reshape(-1, 3)
    nodes = len(stored["labels"])
    network = Network(
        stored["name"],
        stored["titles"],
        links[:, :2],
        labels=stored["labels"],
        ports=links[:, 2],
        positions=_check_positions(stored["positions"], nodes),
        switches=range(stored["endpoints"] or nodes, nodes),
        capacities=stored["capacities"] or None,
        latencies=stored["latencies"] or None,
        capacity_unit=stored["capacity_unit"],
        source=stored["source"],
        licence=stored["licence"],
    )
    if network.sha256 != stored["sha256"]:
        raise RejectedError(
            f"the network '{stored['name']}' does not have the SHA-256 {stored['sha256']} that was"
            " stored with it",
            hint="add the network again, because it was changed after it was stored",
        )
    return remember(network)


def _check_positions(positions: Sequence[Sequence[float]], nodes: int) -> ArrayLike | None:
    """Check the positions of a stored network; return them, or None if it has no positions."""
    if not positions:
        return None
    if len(positions) != nodes or {len(position) for position in positions} != {2}:
        raise InputError(
            "the positions of the network do not consist of two numbers for each node",
            hint=_DAMAGED,
        )
    return positions


def find_network(spec: str) -> Network | None:
    """Return the network that is registered under a spec, or None."""
    return _known.get(spec)


def is_network_spec(text: str) -> bool:
    """Return whether a string has the form of a network's spec, such as ``mine-3fa2c1``."""
    return _SPEC.fullmatch(text) is not None


def check_name(name: object) -> None:
    """Check the name of a network.

    Raises:
        InputError: the name is malformed.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(
            f"the name '{name}' of the network is malformed",
            hint="begin with a letter or digit, and use at most 43 letters, digits, '_' and '.'",
        )


def _check_capacities(capacities: Sequence[int] | None) -> Sequence[int] | None:
    """Return capacities after checking them, or None if all are 1.

    Raises:
        InputError: a capacity is not positive, or the least common multiple of the capacities
            exceeds `MAX_COMMON_CAPACITY`.
    """
    if capacities is None or {*capacities} == {1}:
        return None
    if min(capacities) < 1:
        raise InputError(
            f"the capacity {min(capacities)} is not positive",
            hint="use a positive capacity, or remove the link",
        )
    if lcm(*{*capacities}) > MAX_COMMON_CAPACITY:
        raise InputError(
            f"the capacities from {min(capacities):,} to {max(capacities):,} have no common"
            f" multiple up to {MAX_COMMON_CAPACITY:,}",
            hint="round the capacities to numbers with a smaller common multiple",
        )
    return capacities


def _check_latencies(latencies: Sequence[int] | None) -> Sequence[int] | None:
    """Return latencies after checking them, or None if all are 0.

    Raises:
        InputError: a latency is negative or too large.
    """
    if latencies is None or not any(latencies):
        return None
    if not 0 <= min(latencies) <= max(latencies) <= MAX_LATENCY:
        outside = min(latencies) if min(latencies) < 0 else max(latencies)
        raise InputError(
            f"the latency {outside:,} is not in the range 0 to {MAX_LATENCY:,}",
            hint="use latencies in the unit of T_s, the start-up time",
        )
    return latencies


def check_titles(titles: Sequence[str]) -> None:
    """Check that no two nodes have the same title.

    Raises:
        InputError: two nodes have the same title.
    """
    if len({*titles}) < len(titles):
        repeated = next(title for title in titles if titles.count(title) > 1)
        raise InputError(f"two nodes are named '{repeated}'", hint="rename one of them")


def as_labels(titles: Sequence[str]) -> list[str]:
    """Return a unique label for each title; labels do not depend on the order of titles.

    The titles must be unique.
    """
    labels: dict[str, str] = {}
    taken = {EXPANDED}
    written = {title: _NOT_IN_LABELS.sub("_", title)[:_LONGEST_LABEL] or "_" for title in titles}
    if EXPANDED not in written and all(map(eq, written, written.values())):
        return list(titles)
    # Titles that are valid labels come first, then all other titles in the order of code points.
    for title in sorted(titles, key=lambda title: (written[title] != title, title)):
        label, number = written[title], 1
        while label in taken:
            number += 1
            suffix = f".{number}"
            label = written[title][: _LONGEST_LABEL - len(suffix)] + suffix
        taken.add(label)
        labels[title] = label
    return [labels[title] for title in titles]


def _check_labels(labels: Sequence[str], titles: Sequence[str]) -> Sequence[str]:
    """Return the labels of a stored network, after checking them.

    Raises:
        InputError: a label is malformed, two labels are equal, or a title has no label.
    """
    are_labels = all(map(re.compile(LABEL).fullmatch, labels)) and EXPANDED not in labels
    if not are_labels or not len(set(labels)) == len(labels) == len(titles):
        raise InputError(
            "the network has a malformed or repeated label, or a node without a label",
            hint=_DAMAGED,
        )
    return labels


def _sort_key(label: str) -> tuple[bool, int, str]:
    return not label.isdigit(), int(label) if label.isdigit() else 0, label


def _number_ports(
    nodes: int, pairs: NDArray[np.int64], ports: NDArray[Any] | None
) -> tuple[tuple[int, ...], NDArray[np.int32]]:
    """Return a network's ports and neighbour table, int32 ``[ports, nodes]``.

    Args:
        nodes: the number of nodes.
        pairs: the ends of each link, ``[links, 2]``.
        ports: the port of each link, ``[links]``; None to compute a colouring.

    Raises:
        InputError: given ports are not numbered from 1, there are more than `MAX_DEGREE` + 1 of
            them, or two links of a node have the same port.
    """
    given = colour_links(nodes, pairs.tolist()) if ports is None else ports
    colours, rows = np.unique(given, return_inverse=True)
    table = np.tile(np.arange(nodes, dtype=np.int32), (len(colours), 1))
    first, second = pairs.T
    table[rows, first], table[rows, second] = second, first
    if ports is not None and not (
        np.array_equal(colours, np.arange(1, len(colours) + 1))
        and len(colours) <= MAX_DEGREE + 1
        # Of two links at the same port of a node, one overwrites the other, so the count differs.
        and np.count_nonzero(table != np.arange(nodes)) == 2 * len(pairs)
    ):
        raise InputError(
            "the ports of the network are not numbered 1, 2, .., or a node has two links at a port",
            hint=_DAMAGED,
        )
    return tuple(range(1, len(colours) + 1)), freeze(table)
