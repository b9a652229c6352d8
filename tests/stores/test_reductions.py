"""An allreduce schedule is stored in both stores, verified, queried, run and compared."""

from starcast import Lab
from starcast.collectives import schedule


def test_an_allreduce_is_stored_queried_and_compared(lab: Lab) -> None:
    lab.ingest("S4", schedules=["allreduce:multiple", "allreduce:necklace"])
    assert len(lab.verify()) == 0
    stored = schedule("S4", "allreduce", "multiple")
    assert stored.combine is not None
    for step in range(1, stored.steps + 1):
        sends = lab.query("schedules/sends", schedule=stored.id, step=step)
        expected = stored.combine[stored.step == step].tolist()
        assert sorted(row["combine"] for row in sends.rows) == sorted(expected)
    grid = {"topology": "S4", "collective": "allreduce", "message_bytes": [24, 2400]}
    for name in ("ring", "multiple"):
        lab.experiment(name, grid=grid, algorithm=name)
    compared = lab.compare("ring", "multiple")
    # The ring takes half the transmission time per byte, and three times as many start-ups.
    assert [row["verdict"] for row in compared.rows]
    assert len(compared) == 2
