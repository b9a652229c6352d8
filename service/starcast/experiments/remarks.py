"""What simulations have to say beside their figures, said once for all runs of an experiment."""

from types import TracebackType
from typing import Self

from starcast.database import models
from starcast.experiments.execution import Execution
from starcast.progress import Reporter
from starcast.support.text import pluralize


class Remarks:
    """Collects the remarks of runs and says each when the context is left, however it is left: of how many runs, and of which.

    Args:
        reporter: hears them.
    """

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._runs: dict[str, list[models.Run]] = {}

    def note(self, run: models.Run, execution: Execution) -> None:
        """Keep what an execution has to say of a run that is stored."""
        for remark in execution.remarks:
            self._runs.setdefault(remark, []).append(run)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for remark, runs in self._runs.items():
            first = min(runs, key=lambda run: run.id)
            topology = (
                f"run {first.id} ({first.collective} by {first.algorithm} on {first.topology})"
            )
            self._reporter.say(
                f"{pluralize(len(runs), 'run')}, first {topology}: {remark}"
                if runs[1:]
                else f"{topology}: {remark}"
            )
