"""The pack ``schedules`` a second time, by brute force."""

from packs.asking import Label, Row, oracle, sends, some
from packs.loading import SPECS, schedules


@oracle(
    "schedules/deliveries",
    [{"schedule": plan.id, "node": node} for spec in SPECS for plan in schedules(spec) for node in some(spec)[1:]],
)
def deliveries(schedule: str, node: Label) -> list[Row]:
    """What the node receives, by step, unit and tree."""
    rows = [
        {"step": send.step, "unit": send.unit, "sender": send.sender, "port": send.port, "tree": send.tree}
        for send in sends(schedule)
        if send.receiver == node
    ]
    return sorted(rows, key=lambda row: (row["step"], row["unit"], row["tree"]))
