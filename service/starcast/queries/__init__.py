"""Query packs: folders of read-only Cypher queries, which are checked when they are loaded."""

from starcast.queries.execution import run
from starcast.queries.pack import Library, find, load_library, load_queries
from starcast.queries.query import Query

__all__ = ["Library", "Query", "find", "load_library", "load_queries", "run"]
