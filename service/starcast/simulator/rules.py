"""The rules of one row by itself: it names nothing that does not exist."""

from starcast.simulator.links import Receivers
from starcast.simulator.rows import Broken, Column, Mask, Rows


def misaddressed(rows: Rows) -> Broken | None:
    """The first row that names what does not exist: a step, a node, a port, a unit, or a receiver that is not across."""
    if len(rows) and rows.step[0] < 1:
        return rows.broken(0, "steps count from 1")
    topology, units = rows.schedule.topology, rows.schedule.units
    receivers = Receivers(topology, len(rows))
    for batch in rows.batches(len(rows)):
        sender, port = rows.sender[batch], rows.port[batch]
        broken = first(
            rows,
            batch.start,
            (_outside(sender, topology.nodes), "the sender is no node"),
            (~receivers.links.exist(port), "the sender has no such port"),
            (
                receivers.of(sender, port) != rows.receiver[batch],
                "the receiver is not across that port",
            ),
            (_outside(rows.unit[batch], units), f"the collective has units 0 to {units - 1}"),
        )
        if broken:
            return broken
    return None


def first(rows: Rows, begin: int, *found: tuple[Mask, str]) -> Broken | None:
    """The first row that a rule is broken by, of the rows from ``begin`` on; by the first of its rules."""
    broken = [(int(mask.argmax()), rule) for mask, rule in found if mask.any()]
    if not broken:
        return None
    row, rule = min(broken, key=lambda one: one[0])
    return rows.broken(begin + row, rule)


def _outside(column: Column, count: int) -> Mask:
    return (column < 0) | (column >= count)
