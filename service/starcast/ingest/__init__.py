"""Store topologies, forests and schedules, which are called artifacts, in PostgreSQL and Neo4j.

PostgreSQL records which artifacts are stored, and in which state. Neo4j has their nodes and
relationships, which can be built again at any time.
"""

from starcast.ingest.both_stores import Stores, open_stores
from starcast.ingest.ingestion import Summary, drop, ingest
from starcast.ingest.planning import Plan, parse_request
from starcast.support.vocabulary import LoadMethod

__all__ = [
    "LoadMethod",
    "Plan",
    "Stores",
    "Summary",
    "drop",
    "ingest",
    "open_stores",
    "parse_request",
]
