"""Ingest plans, created by one call."""

from typing import Any

from starcast.ingest import Plan, parse_request


def plan(*words: Any, **options: Any) -> Plan:
    """Return the plan of a request; see `parse_request` for the arguments."""
    return parse_request(*words, **options)
