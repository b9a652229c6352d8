"""A program that starts an ingest or a drop and kills itself with SIGKILL in the middle."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence

from starcast.ingest import LoadMethod, drop, ingest, open_stores, parse_request
from starcast.ingest.artifacts import Artifact
from starcast.support.settings import Settings
from support.recorder import Countdown


def die() -> None:
    """End the process without any cleanup, as a power failure would."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Perform the ingest or drop that the command line and environment describe."""
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
