"""Ingest plans, created by one call."""

from typing import Any

from starcast.ingest import Plan, parse_request


def plan(*words: Any, **options: Any) -> Plan:
    """Return the ingest plan for a request with the arguments of `parse_request`."""
    return parse_request(*words, **options)
