"""Query packs: folders of Cypher queries, which are checked when loaded and only read the graph."""

from starcast.queries.execution import run
from starcast.queries.pack import Library, find, load_library, load_queries
from starcast.queries.query import Query

__all__ = ["Library", "Query", "find", "load_library", "load_queries", "run"]
