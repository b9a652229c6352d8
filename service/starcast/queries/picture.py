"""Draw the nodes and links in the rows of query results.

A query's header declares which columns contain nodes, such as ``sender (node)``. A row with two
node columns is drawn as an arrow from the first node to the second, if the two are adjacent. A row
with one node column and a column ``port`` is drawn as a link between this node and the node given
as query parameter, if the two are adjacent. A list ``path`` is drawn as a path. All other nodes are
drawn without links. The levels of the drawing are counted from the common first node of the paths.
If there is none, they are counted from the node given as query parameter, or else from the root of
the forest or schedule.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any

from starcast.drawing import Link, Subgraph
from starcast.queries.parameters import STORED, Parameter, named_topologies
from starcast.queries.query import Query
from starcast.support.errors import InputError
from starcast.support.vocabulary import EXPANDED
from starcast.topologies import Topology

#: The column that contains a path.
PATH = "path"

#: A function that returns a node's port to each neighbour, by the neighbour's rank.
PortsOf = Callable[[int], dict[int, int]]


def check_drawable(query: Query, values: Mapping[str, Any]) -> Topology:
    """Check that a query's result can be drawn, and return the topology of its nodes.

    Raises:
        InputError: no column contains nodes, or the parameters do not name exactly one topology.
    """
    if not _node_columns(query):
        names = ", ".join(column.name for column in query.columns)
        raise InputError(
            f"{query.name} cannot be drawn: none of its columns ({names}) contains nodes",
            hint="use another format; node columns are declared as 'name (node): meaning'",
        )
    topologies = named_topologies(query.parameters, values)
    if len(topologies) == 1:
        return topologies[0]
    count = f"its parameters name {len(topologies)} topologies"
    reason = count if topologies else "none of its parameters names a topology"
    raise InputError(
        f"{query.name} cannot be drawn: {reason}",
        hint="use another format; a drawing shows the nodes of a single topology",
    )


def build_subgraph(
    query: Query, values: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> Subgraph:
    """Return the subgraph to draw: the nodes and links in the rows of a result.

    Raises:
        InputError: no column contains nodes, the parameters do not name exactly one topology, or a
            value is not a node of this topology.
    """
    topology = check_drawable(query, values)
    columns = _node_columns(query)
    has_port = any(column.name == "port" for column in query.columns)
    # The results are cached, because many rows name the same few nodes.
    rank_of = cache(topology.rank)
    ports_of = cache(partial(_ports, topology))
    named = [{name: _ranks(rank_of, row[name]) for name in columns} for row in rows]
    source = _path_start(named) if columns.get(PATH) else None
    if source is None:
        source = _source(query.parameters, values, topology)
    nodes: dict[int, None] = {}
    links: Counter[Link] = Counter()
    for row in named:
        for members in row.values():
            nodes |= dict.fromkeys(members)
        if columns.get(PATH):
            links.update(_links(ports_of, row[PATH]))
        ends = [row[name] for name, many in columns.items() if not many]
        links.update(_row_links(ports_of, ends, source if has_port else None))
    given = {each.name: values[each.name] for each in query.parameters}
    caption = " ".join(f"{name}={_format(value)}" for name, value in given.items())
    return Subgraph(topology, query.header.title, caption, tuple(nodes), links, source)


def _ranks(rank_of: Callable[[str], int], value: Any) -> list[int]:
    """Return the ranks of nodes given by a label or a list of labels; skip labels that are None."""
    labels = value if isinstance(value, list) else [value]
    return [rank_of(str(label)) for label in labels if label is not None]


def _links(ports_of: PortsOf, ranks: Sequence[int]) -> Iterator[Link]:
    """Yield the links between consecutive nodes of a path; skip pairs that are not adjacent."""
    for sender, receiver in pairwise(ranks):
        port = ports_of(sender).get(receiver)
        if port is not None:
            yield Link(sender, port, receiver)


def _ports(topology: Topology, rank: int) -> dict[int, int]:
    """Return a node's port to each neighbour, by the neighbour's rank."""
    ends = {int(topology.neighbours(port, [rank])[0]): port for port in topology.ports}
    # If a node has no link at a port, the topology lists the node itself as the neighbour.
    return {end: port for end, port in ends.items() if end != rank}


def _node_columns(query: Query) -> dict[str, bool]:
    """Return, for each column declared to contain nodes, whether the values are lists."""
    types = {column.name: column.type for column in query.columns}
    return {name: kind.many for name, kind in types.items() if kind and kind.name == "node"}


def _path_start(rows: Sequence[Mapping[str, Sequence[int]]]) -> int | None:
    """Return the node at which all paths begin, or None if there is no such node or no path."""
    starts = {row[PATH][0] for row in rows if row[PATH]}
    return starts.pop() if len(starts) == 1 else None


def _source(
    parameters: Sequence[Parameter], values: Mapping[str, Any], topology: Topology
) -> int | None:
    """Return the node from which levels are counted: the first node parameter, or else the root.

    The root belongs to the first forest or schedule among the parameters. The result is None if no
    parameter is a node, forest or schedule, or if the schedule has the rows of all sources.
    """
    for kinds in (("node",), STORED[1:]):
        for parameter in parameters:
            if parameter.type.name in kinds and not parameter.type.many:
                label = values[parameter.name].rpartition(":")[2]
                return topology.rank(label) if label != EXPANDED else None
    return None


def _row_links(ports_of: PortsOf, ends: Sequence[list[int]], source: int | None) -> Iterator[Link]:
    """Yield the links that a row of the result represents.

    Args:
        ports_of: function that returns a node's port to each neighbour.
        ends: for each column of single nodes, a list with the rank of the node in this row; the
            list is empty if the node is null.
        source: the node to which the node of a row is linked if the row has only one node; None if
            rows with only one node have no links.
    """
    # If a node is null, as it can be after OPTIONAL MATCH, no link is drawn.
    match ends:
        case [[first], [second]]:
            yield from _links(ports_of, [first, second])
        case [[end]] if source is not None:
            yield from (link._replace(arrow=False) for link in _links(ports_of, [source, end]))


def _format(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
