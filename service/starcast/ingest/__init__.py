"""Storing topologies, forests and schedules in both stores, and exporting them."""

from starcast.ingest.dropping import drop
from starcast.ingest.ingestion import Summary, ingest
from starcast.ingest.planning import IngestRequest, Plan, parse_request
from starcast.ingest.stores import Stores, open_stores
from starcast.vocabulary import LoadMethod

__all__ = [
    "IngestRequest",
    "LoadMethod",
    "Plan",
    "Stores",
    "Summary",
    "drop",
    "ingest",
    "open_stores",
    "parse_request",
]
