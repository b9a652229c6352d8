"""Query packs: questions to the graph in Cypher, checked when they are loaded and run in read-only transactions."""

from starcast.queries.pack import Query, find, library
from starcast.queries.runner import run

__all__ = ["Query", "find", "library", "run"]
