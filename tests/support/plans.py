"""Ingest plans for tests, and the ids of their artifacts."""

from typing import Any

from starcast.ingest import Plan, parse_request

#: Ids of forests on S4, and of a broadcast along the forest `multiple`.
TREES, GREEDY = "S4:multiple:1234", "S4:greedy:1234"
SENDS = "S4:broadcast:multiple:all:segments=2:1234"


def plan(*words: Any, **options: Any) -> Plan:
    """Return the ingest plan for a request with the arguments of `parse_request`."""
    return parse_request(*words, **options)


#: The plan that most tests and `break_off.py` ingest, and the ids of its artifacts in build order.
PLAN = plan("S4", schedules="multiple", segments=2)
S4 = ("S4", TREES, SENDS)
#: The same artifacts and the greedy tree.
LARGER = plan("S4", "greedy", "multiple", segments=2)
