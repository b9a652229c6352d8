"""The methods of a lab for runs, experiments and comparisons."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcast.errors import InputError
from starcast.lab.answers import ComparisonTable, RunTable
from starcast.lab.choices import as_conditions, plain_values
from starcast.lab.connection import Connection
from starcast.support.table import Row, Table

if TYPE_CHECKING:
    from starcast.comparison.page import Profiles
    from starcast.experiments.design import Design
    from starcast.experiments.exchange import Imported
    from starcast.experiments.running import Outcome
    from starcast.topologies import Topology


#: A number as in the papers; text keeps it exact, such as ``23/3``.
Number = int | float | str | Fraction


class Experiments(Connection):
    """Runs of algorithms, named sets of them, and comparisons."""

    def experiment(
        self,
        name: str,
        grid: str | Path | Mapping[str, Any] | None = None,
        *,
        replace: bool = False,
        jobs: int | None = None,
        executor: Executor | None = None,
        **axes: Any,
    ) -> "Outcome":
        """Execute and store every combination of the axes that the experiment does not hold yet.

        Args:
            name: the name of the experiment.
            grid: a TOML file or a shipped example by name (see `examples`), or the axes.
            replace: delete a stored experiment of this name first.
            jobs: number of processes; by default one per core if the work is large. An algorithm
                that is defined in a notebook can only run in the process of the notebook.
            executor: executes the points instead of processes on this machine.
            axes: values of axes, each a value or a list; they replace those of the grid. The axes
                are topology, collective, algorithm, base, ports, segments, messages, copies,
                faults, seed, message_bytes, t_s and t_c.

        Returns:
            The number of runs that were created, stored before, and failed.

        Raises:
            InputError: the name, an axis or a value is wrong, or the experiment has another grid.
            RejectedError: some runs failed. They are stored as failed, and never compared.
            BusyError: another process is using the experiment.
            LimitError: a point does not fit into memory; earlier runs are stored.

        Example:
            >>> lab.experiment("e1", topology="S5", algorithm="multiple", message_bytes=[64, 4096])
            Outcome(name='e1', kept=0, created=2, failed=0)
        """
        from starcast.experiments.design import Design, read_design
        from starcast.experiments.running import run_experiment

        given = {axis: plain_values(value) for axis, value in axes.items()}
        if isinstance(grid, Mapping):
            texts = {key: plain_values(value) for key, value in grid.items()}
            design = Design.from_json(texts, given)
        else:
            design = read_design(None if grid is None else str(grid), given)
        outcome = run_experiment(
            self.engine,
            name,
            design,
            self.reporter,
            replace=replace,
            jobs=_jobs(jobs),
            executor=executor,
        )
        outcome.require_success()
        return outcome

    def run(
        self,
        topology: "str | Topology",
        collective: str,
        algorithm: str,
        *,
        message_bytes: Number,
        experiment: str = "adhoc",
        store: bool = True,
        **axes: Any,
    ) -> RunTable:
        """Build, verify and simulate a schedule; return its exact costs and the lower bound.

        A stored run of the same point in the same collection is replaced.

        Args:
            topology: the topology or its spec.
            collective: such as ``broadcast``.
            algorithm: such as ``multiple``.
            message_bytes: size of the message in bytes.
            experiment: collection of single runs to store the run in.
            store: store the run.
            axes: a value of each further axis of `experiment`.

        Raises:
            InputError: a value is wrong.
            RejectedError: the schedule violates its model or leaves units undelivered.
            LimitError: the schedule does not fit into memory.

        Example:
            >>> lab.run("S5", "broadcast", "multiple", message_bytes=1024)["cost"]
            ['simulated', 'closed form', 'lower bound']
        """
        from starcast.comparison import listing
        from starcast.experiments.execution import execute, price_run
        from starcast.experiments.grid import Grid
        from starcast.experiments.running import run_once

        values = {
            "topology": topology, "collective": collective, "algorithm": algorithm,
            "message_bytes": message_bytes, **axes,
        }  # fmt: skip
        given = {axis: plain_values(value) for axis, value in values.items() if value is not None}
        several = next((axis for axis, value in given.items() if isinstance(value, list)), None)
        if several is not None:
            raise InputError(
                f"{several} has several values", hint="give one, or call lab.experiment()"
            )
        (point,) = Grid.from_json(given).points()
        if store:
            run = run_once(self.engine, point, experiment, self.reporter)
        else:
            execution = execute(point)
            run = price_run(point, execution)
            for remark in execution.remarks:
                self.reporter.say(remark)
        listing.require_complete(run)
        rows = listing.cost_rows(run)
        loss = listing.describe_loss(run) if run.faults else ""
        table = Table.of(rows, listing.COST_COLUMNS, loss)
        return RunTable(table.columns, table.rows, table.note, run=run)

    def compare(
        self,
        *names: str,
        across: str | Iterable[str] = (),
        conditions: Mapping[str, Any] | Iterable[str] = (),
        baseline: str | None = None,
        sort: str | None = None,
        everything: bool = False,
    ) -> ComparisonTable:
        """Compare experiments, or single runs, at their common points.

        Args:
            names: experiments by name, runs by number; a single experiment is split by algorithm,
                base and copies.
            across: axes in which the compared runs may differ: topology, ports, execution, t_s or
                t_c.
            conditions: only runs with these values: ``{"topology": ["S5", "Q7"]}``, or
                ``["topology=S5"]``.
            baseline: the side that the others are compared with; by default the first.
            sort: the column to sort by; ``-COLUMN`` descends.
            everything: all parameters, figures and rows, also those without a difference.

        Raises:
            NotFoundError: an experiment or run does not exist, or no run meets the conditions.
            InputError: an axis, a condition or a column is wrong, or nothing can be compared.

        Example:
            >>> lab.compare("e1", "e2").to_polars()
        """
        from starcast.comparison.layout import tabulate
        from starcast.comparison.stored import compare_stored, load_profiles

        axes = [across] if isinstance(across, str) else list(across)
        with self._session() as session:
            comparison = compare_stored(
                session,
                names,
                self.reporter,
                across=axes,
                conditions=as_conditions(conditions),
                baseline=baseline,
                sort=sort,
            )
            table = tabulate(comparison, everything=everything)

        def profiles() -> "Profiles":
            with self._session() as opened:
                return load_profiles(opened, comparison)

        return ComparisonTable(
            table.columns,
            table.rows,
            table.note,
            comparison=comparison,
            _everything=everything,
            _load_profiles=profiles,
        )

    def reproduce(
        self, name: str | int, *, jobs: int | None = None, executor: Executor | None = None
    ) -> Table:
        """Execute every stored run again under the same faults and compare the figures.

        Nothing is stored.

        Args:
            name: the experiment, or the number of a run.
            jobs: number of processes, as in `experiment`.
            executor: as there.

        Returns:
            A row per run: for each figure either ``same``, or the stored and the new value; the
            column ``agrees`` says whether all figures are the same.

        Raises:
            NotFoundError: no such experiment or run is stored.
        """
        from starcast.comparison import listing
        from starcast.experiments.reproduction import reproduce

        repetitions = reproduce(self.engine, str(name), self.reporter, _jobs(jobs), executor)
        return listing.list_repetitions(repetitions, str(name))

    def experiments(self) -> Table:
        """Return the stored experiments with their grids, stored runs and points."""
        from starcast.comparison import listing

        with self._session() as session:
            return listing.list_experiments(session)

    def examples(self) -> Table:
        """Return the shipped experiments, which `experiment` takes as ``grid``."""
        from starcast.comparison import listing

        return listing.list_examples()

    def runs(self, experiment: str | None = None) -> Table:
        """Return the stored runs, or those of an experiment in the order of its points.

        Raises:
            NotFoundError: no such experiment is stored.
        """
        from starcast.comparison import listing
        from starcast.comparison.sides import experiment_side

        with self._session() as session:
            if experiment is None:
                return listing.list_runs(session)
            return listing.list_grid(experiment_side(session, experiment))

    def show_run(self, number: int) -> Row:
        """Return everything that is stored of a run: parameters, costs, seconds, provenance.

        Raises:
            NotFoundError: no such run is stored.
        """
        from starcast.comparison import listing
        from starcast.database import repository

        with self._session() as session:
            run = repository.load_run(session, number)
            return listing.run_facts(run, repository.experiment_name(session, run.experiment))

    def run_steps(self, number: int) -> Table:
        """Return the step profile of a stored run.

        Raises:
            NotFoundError: no such run is stored.
        """
        from starcast.comparison import listing
        from starcast.database import repository

        with self._session() as session:
            repository.load_run(session, number)
            return listing.list_profile(repository.load_profile(session, number))

    def grid(self, experiment: str) -> "Design":
        """Return the design of a stored experiment; ``design.toml()`` is a file for `experiment`.

        Raises:
            NotFoundError: no such experiment is stored.
            InputError: it is a collection of single runs.
        """
        from starcast.database import repository
        from starcast.experiments.design import stored_design

        with self._session() as session:
            stored = repository.load_experiment(session, experiment)
            if not stored.grid:
                raise InputError(
                    f"the experiment '{experiment}' is a collection of single runs without a grid",
                    hint=f"list its runs with lab.runs('{experiment}')",
                )
            return stored_design(stored)

    def export_experiment(self, names: str | Sequence[str], file: str | Path) -> int:
        """Write experiments with all runs to a file for another store; return the number of runs.

        Args:
            names: one or several experiments.
            file: the file; compressed if its name ends with ``.gz``.

        Raises:
            NotFoundError: an experiment is not stored.
            InputError: the file cannot be written.
        """
        from starcast.experiments.exchange import export_experiments

        listed = [names] if isinstance(names, str) else names
        return export_experiments(self.engine, listed, Path(file))

    def import_experiment(self, file: str | Path, name: str | None = None) -> "list[Imported]":
        """Store the experiments of a file; runs that are stored already are kept.

        Args:
            file: a file that `export_experiment` has written.
            name: the name for its only experiment; by default the name in the file.

        Raises:
            InputError: the file is not valid, or an experiment of this name has another grid.
            RejectedError: a run of the file has other figures than the same run in this store.
        """
        from starcast.experiments.exchange import import_experiments

        return import_experiments(self.engine, Path(file), name)

    def drop_experiment(self, name: str) -> int:
        """Delete an experiment with its runs, and return their number.

        Raises:
            NotFoundError: no such experiment is stored.
            BusyError: another process is running it.
        """
        from starcast.experiments.running import drop_experiment

        return drop_experiment(self.engine, name)


def _jobs(jobs: int | None) -> int | None:
    """Return the number of processes; other processes cannot import what a notebook defines."""
    from starcast.plugins import ORIGINS

    is_interactive = any(origin.module == "__main__" for origin in ORIGINS.values())
    return 1 if jobs is None and is_interactive else jobs
