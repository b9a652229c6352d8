"""An answer as a picture: which nodes and links its rows name.

A column that holds nodes says so (`sender (node)`). A row with two such columns whose nodes are adjacent is an arrow from the
first to the second; one with a column ``port`` and one such column is a link to the node that was asked about, if they are
adjacent; a list ``nodes`` is a path. All other nodes are drawn as they are. Levels are counted from where all paths begin,
else from the node that was asked about, else from the root of the forest or schedule.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from starcast.collectives.model import EXPANDED
from starcast.drawing import Link, Picture
from starcast.errors import InputError
from starcast.graph.connection import QueryResult
from starcast.queries.header import Column
from starcast.queries.pack import Query
from starcast.queries.parameters import STORED, Parameter, named_topologies
from starcast.topologies import Topology

#: The column that holds a path.
PATH = "nodes"


def check_drawable(query: Query, values: Mapping[str, Any]) -> Topology:
    """The topology whose nodes the answer names.

    Raises:
        InputError: no column holds nodes, or the parameters name no topology or several.
    """
    if not _columns(query):
        shown = ", ".join(column.name for column in query.columns)
        raise InputError(
            f"{query.name} answers with {shown}, and none of them holds nodes: there is nothing to draw",
            hint="take another format; a column that holds nodes is declared as 'name (node): meaning'",
        )
    places = named_topologies(query.parameters, values)
    if len(places) == 1:
        return places[0]
    said = f"{len(places)} topologies are named" if places else "no parameter names a topology"
    raise InputError(
        f"{query.name} cannot be drawn: {said}",
        hint="a picture shows nodes of one topology; take another format",
    )


def picture(query: Query, values: Mapping[str, Any], answer: QueryResult) -> Picture:
    """What an answer names, to be drawn.

    Raises:
        InputError: see `check_drawable`; or a value is no node of the topology.
    """
    place = check_drawable(query, values)
    ranks = _Ranks(place)
    rows = [
        {column.name: ranks.of(row[column.name]) for column in _columns(query)}
        for row in answer.rows
    ]
    source = _begin(rows) if _paths(query) else None
    source = _source(query.parameters, values, place) if source is None else source
    nodes: dict[int, None] = {}
    links: Counter[Link] = Counter()
    for found in rows:
        for named in found.values():
            nodes |= dict.fromkeys(named)
        links.update(_links(ranks, query, found, source))
    words = " ".join(f"{name}={_written(value)}" for name, value in values.items())
    return Picture(place, query.header.title, words, tuple(nodes), links, source)


class _Ranks:
    """Labels as ranks, and ranks as links; rows name the same few again and again."""

    def __init__(self, place: Topology) -> None:
        self._place = place
        self._rank = cache(place.rank)
        self._ports = cache(self._ports_of)

    def of(self, value: Any) -> list[int]:
        """The ranks of a label, of a list of labels, or of nothing."""
        labels = value if isinstance(value, list) else [value]
        return [self._rank(str(label)) for label in labels if label is not None]

    def joined(self, ranks: Sequence[int]) -> Iterator[Link]:
        """Every step from one node to the next that is a link."""
        for sender, receiver in pairwise(ranks):
            port = self._ports(sender).get(receiver)
            if port is not None:
                yield Link(sender, port, receiver)

    def _ports_of(self, rank: int) -> dict[int, int]:
        return {int(self._place.neighbours(port, [rank])[0]): port for port in self._place.ports}


def _columns(query: Query) -> list[Column]:
    return [
        column for column in query.columns if column.type is not None and column.type.name == "node"
    ]


def _paths(query: Query) -> bool:
    return any(
        column.name == PATH and column.type is not None and column.type.many
        for column in _columns(query)
    )


def _begin(rows: Sequence[Mapping[str, Sequence[int]]]) -> int | None:
    """The node where all paths begin, if there is one."""
    begins = {row[PATH][0] for row in rows if row[PATH]}
    return begins.pop() if len(begins) == 1 else None


def _source(
    parameters: Sequence[Parameter], values: Mapping[str, Any], place: Topology
) -> int | None:
    """The node that all is seen from: the first that was asked about, else the root of a forest or schedule."""
    for parameter in parameters:
        if parameter.type.name == "node" and not parameter.type.many:
            return place.rank(values[parameter.name])
    for parameter in parameters:
        if parameter.type.name in STORED[1:] and not parameter.type.many:
            root = values[parameter.name].rpartition(":")[2]
            return place.rank(root) if root != EXPANDED else None
    return None


def _links(
    ranks: _Ranks, query: Query, found: Mapping[str, list[int]], source: int | None
) -> Iterator[Link]:
    """The links of one row."""
    single = [
        column.name
        for column in _columns(query)
        if column.type is not None and not column.type.many
    ]
    if _paths(query):
        yield from ranks.joined(found[PATH])
    ends = [end for name in single for end in found[name]]
    if len(single) == len(ends) == 2:
        yield from ranks.joined(ends)
    elif (
        len(single) == len(ends) == 1
        and source is not None
        and any(column.name == "port" for column in query.columns)
    ):
        yield from (link._replace(arrow=False) for link in ranks.joined([source, *ends]))


def _written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
