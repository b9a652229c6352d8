"""Query packs: questions to the graph in Cypher, checked when they are loaded and run in read-only transactions."""

from starcast.queries.execution import run
from starcast.queries.pack import Library, Query, find, gather, library

__all__ = ["Library", "Query", "find", "gather", "library", "run"]
