"""Pictures of query results, which show the nodes and links in their rows.

A query's header declares which columns contain nodes, as in `sender (node)`. A row with two node
columns is drawn as an arrow from the first node to the second, if the two are adjacent. A row with
one node column and a column ``port`` is drawn as a link between this node and the node given as
query parameter, if the two are adjacent. A list ``path`` is drawn as a path. All other nodes are
drawn without links. Levels are counted from the common first node of the paths, or else from the
node given as query parameter, or else from the root of the forest or schedule.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any

from starcast.collectives.model import EXPANDED
from starcast.drawing import Link, Subgraph
from starcast.queries.header import Column
from starcast.queries.pack import Query
from starcast.queries.parameters import STORED, Parameter, named_topologies
from starcast.support.errors import InputError
from starcast.topologies import Topology

#: The column that contains a path.
PATH = "path"

#: Returns the port to each neighbour of a node.
PortsOf = Callable[[int], dict[int, int]]


def check_drawable(query: Query, values: Mapping[str, Any]) -> Topology:
    """Check that a query's result can be drawn, and return the topology of its nodes.

    Raises:
        InputError: no column contains nodes, or the parameters do not name exactly one topology.
    """
    if not _node_columns(query):
        names = ", ".join(column.name for column in query.columns)
        raise InputError(
            f"{query.name} cannot be drawn: none of its columns contains nodes ({names})",
            hint="use another format; columns of nodes are declared as 'name (node): meaning'",
        )
    topologies = named_topologies(query.parameters, values)
    if len(topologies) == 1:
        return topologies[0]
    count = f"its parameters name {len(topologies)} topologies"
    reason = count if topologies else "none of its parameters names a topology"
    raise InputError(
        f"{query.name} cannot be drawn: {reason}",
        hint="use another format; a picture shows the nodes of a single topology",
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
    # The results are kept, because rows name the same few nodes many times.
    rank_of = cache(topology.rank)
    ports_of = cache(partial(_ports, topology))
    named = [{column.name: _ranks(rank_of, row[column.name]) for column in columns} for row in rows]
    source = _path_start(named) if _has_paths(query) else None
    if source is None:
        source = _source(query.parameters, values, topology)
    nodes: dict[int, None] = {}
    links: Counter[Link] = Counter()
    for row in named:
        for members in row.values():
            nodes |= dict.fromkeys(members)
        links.update(_row_links(ports_of, query, row, source))
    given = {each.name: values[each.name] for each in query.parameters}
    caption = " ".join(f"{name}={_format(value)}" for name, value in given.items())
    return Subgraph(topology, query.header.title, caption, tuple(nodes), links, source)


def _ranks(rank_of: Callable[[str], int], value: Any) -> list[int]:
    """Return the ranks of a label or of a list of labels. None gives an empty list."""
    labels = value if isinstance(value, list) else [value]
    return [rank_of(str(label)) for label in labels if label is not None]


def _links(ports_of: PortsOf, ranks: Sequence[int]) -> Iterator[Link]:
    """Yield the links between those consecutive nodes that are adjacent."""
    for sender, receiver in pairwise(ranks):
        port = ports_of(sender).get(receiver)
        if port is not None:
            yield Link(sender, port, receiver)


def _ports(topology: Topology, rank: int) -> dict[int, int]:
    """Return the port to each neighbour of a node."""
    return {int(topology.neighbours(port, [rank])[0]): port for port in topology.ports}


def _node_columns(query: Query) -> list[Column]:
    return [each for each in query.columns if each.type is not None and each.type.name == "node"]


def _has_paths(query: Query) -> bool:
    return any(
        column.name == PATH and column.type is not None and column.type.many
        for column in _node_columns(query)
    )


def _path_start(rows: Sequence[Mapping[str, Sequence[int]]]) -> int | None:
    """Return the first node of all paths, or None if they begin at different nodes."""
    starts = {row[PATH][0] for row in rows if row[PATH]}
    return starts.pop() if len(starts) == 1 else None


def _source(
    parameters: Sequence[Parameter], values: Mapping[str, Any], topology: Topology
) -> int | None:
    """Return the node from which levels are counted: the first node parameter, or else the root."""
    for parameter in parameters:
        if parameter.type.name == "node" and not parameter.type.many:
            return topology.rank(values[parameter.name])
    for parameter in parameters:
        if parameter.type.name in STORED[1:] and not parameter.type.many:
            root = values[parameter.name].rpartition(":")[2]
            return topology.rank(root) if root != EXPANDED else None
    return None


def _row_links(
    ports_of: PortsOf, query: Query, row: Mapping[str, list[int]], source: int | None
) -> Iterator[Link]:
    columns = _node_columns(query)
    single = [each.name for each in columns if each.type is not None and not each.type.many]
    if _has_paths(query):
        yield from _links(ports_of, row[PATH])
    ends = [end for name in single for end in row[name]]
    has_port = any(column.name == "port" for column in query.columns)
    # If a node is null, as it can be after OPTIONAL MATCH, the row has only one node and no link is
    # drawn.
    if len(single) == len(ends) == 2:
        yield from _links(ports_of, ends)
    elif len(single) == len(ends) == 1 and source is not None and has_port:
        yield from (link._replace(arrow=False) for link in _links(ports_of, [source, *ends]))


def _format(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
