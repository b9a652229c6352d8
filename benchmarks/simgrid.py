"""Compare starcast's times for all algorithms on a topology with those of SimGrid.

``PYTHONPATH=tests python -m benchmarks.simgrid S5 [INSTALLATION]`` takes ten minutes;
tests/unit/test_simgrid.py does the same on smaller topologies. The exit code is 1 if a time
differs.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from starcast import schedule, timing
from starcast.collectives.algorithm import algorithms_on
from starcast.support.vocabulary import EXECUTION_MODELS
from starcast.topologies import as_topology
from support.simgrid import SimGridRequest, run_simgrid


def compare(spec: str, installation: Path | None) -> Iterator[bool]:
    """Print both times of each algorithm, and yield whether they agree.

    Both execution models of an algorithm form one batch, so that the algorithm's times are printed
    before the next algorithm is executed.
    """
    for entry in algorithms_on(as_topology(spec)):
        for ports in entry.ports:
            judged = schedule(spec, entry.collective, entry.name, ports).expand()
            requests = [SimGridRequest(judged, execution=name) for name in EXECUTION_MODELS]
            runs = run_simgrid(requests, installation)
            for execution, run in zip(EXECUTION_MODELS, runs, strict=True):
                time = timing(judged, execution=execution).time
                verdict = "equal" if run.time == time else "DIFFERENT"
                print(f"{judged.id} {execution}: {time} {run.time} {verdict}", flush=True)
                yield run.time == time


def main(spec: str = "S5", installation: str | None = None) -> None:
    """Compare the times on a topology; `run_simgrid` explains how SimGrid is found."""
    equal = list(compare(spec, Path(installation) if installation else None))
    print(f"{sum(equal)} of {len(equal)} executions have equal times")
    sys.exit(not all(equal))


if __name__ == "__main__":
    main(*sys.argv[1:])
