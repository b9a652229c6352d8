"""A program that kills itself during an ingest or drop, and a reporter that interrupts work."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from starcast.ingest import LoadMethod, drop, ingest, open_stores, parse_request
from starcast.ingest.artifacts import Artifact
from starcast.support.progress import Silent, Task
from starcast.support.settings import Settings


def die() -> None:
    """End the process without any cleanup, as a power failure would."""
    os.kill(os.getpid(), signal.SIGKILL)


class Countdown(Silent):
    """A progress reporter that calls a function when its tasks advance for the n-th time."""

    def __init__(self, advances: int, end: Callable[[], object]) -> None:
        self.left, self.end = advances, end

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:
        """Yield this reporter as the task."""
        del text, total, unit
        yield self

    def advance(self, amount: int = 1) -> None:
        """Call the function if this is the n-th advance."""
        del amount
        self.left -= 1
        if self.left == 0:
            self.end()


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Begin the ingest or drop that the arguments describe, and kill this process on the way."""
    os.environ.update(environment)
    stored_plan, *words = arguments

    def at_stage(stage: str) -> None:
        if stage == words[0]:
            die()

    with open_stores(Settings.load()) as stores:
        if stored_plan == "drop-by-import":
            drop(stores, "topology", "S4", True, method=LoadMethod.IMPORT, on_stage=at_stage)
            return
        if stored_plan == "drop":
            drop(stores, "topology", "S4", cascade=True, reporter=Countdown(int(words[0]), die))
            return
        kind, stage = words if stored_plan == "ingest" else ("topology", *words)

        def on_stage(at: str, artifact: Artifact) -> None:
            if (at, artifact.kind) == (stage, kind):
                die()

        method = LoadMethod.BOLT if stored_plan == "ingest" else LoadMethod.IMPORT
        request = parse_request("S4", schedules="multiple", segments=2)
        ingest(stores, request, on_stage=on_stage, method=method)


if __name__ == "__main__":
    main(sys.argv[1:], {})
