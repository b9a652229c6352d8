"""Run by tests as a process of its own: ingests or drops, and kills itself with SIGKILL at a named place.

``break_off.py ingest KIND STAGE``, ``break_off.py import STAGE`` or ``break_off.py drop BATCHES``. The servers are in
``STARCAST_*``.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from starcast.choices import LoadMethod
from starcast.ingest import drop, ingest, open_stores, plan
from starcast.ingest.artifacts import Thing
from starcast.progress import Silent, Task
from starcast.settings import Settings


def die() -> None:
    """End as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


class Mortal(Silent):
    """A reporter that dies with the n-th advance of its tasks."""

    def __init__(self, advances: int) -> None:
        self.left = advances

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:
        """A task that counts down."""
        del text, total, unit
        yield self

    def advance(self, amount: int = 1) -> None:
        """One step nearer."""
        del amount
        self.left -= 1
        if self.left == 0:
            die()


def main() -> None:
    """Do what the arguments say."""
    what, *words = sys.argv[1:]
    with open_stores(Settings.load()) as stores:
        if what == "drop":
            drop(stores, "topology", "S4", cascade=True, reporter=Mortal(int(words[0])))
            return
        kind, stage = words if what == "ingest" else ("topology", *words)

        def on_stage(at: str, thing: Thing) -> None:
            if (at, thing.kind) == (stage, kind):
                die()

        way = LoadMethod.BOLT if what == "ingest" else LoadMethod.IMPORT
        ingest(stores, plan("S4", schedules="multiple", segments=2), on_stage=on_stage, way=way)


if __name__ == "__main__":
    main()
