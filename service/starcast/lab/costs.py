"""The operations on costs: tables from closed forms or stored runs, and optimal segment counts."""

from collections.abc import Sequence
from inspect import signature
from typing import TYPE_CHECKING, Annotated

from starcast.lab.connection import Connection
from starcast.lab.results import CostTable
from starcast.lab.signature import (
    CollectiveName,
    ConditionsOption,
    MessageBytes,
    NumberOption,
    OptionalTopology,
    Shell,
    TopologyName,
    as_conditions,
    read_topology,
)
from starcast.support.errors import InputError
from starcast.support.table import Row, Table, rounded, with_numbers
from starcast.support.vocabulary import Collective, ExecutionModel, Ports, RequestedBound

if TYPE_CHECKING:
    from starcast.costs import Machine
    from starcast.costs.presentation import CostPart
    from starcast.costs.tables import CostProblem, CostRow

#: Default of ``max_rows``: simulating a schedule with this number of rows takes about a second.
MAX_ROWS = 2_000_000
COSTS = ("start_ups", "bytes", "steps", "transmissions", "time")


class Costs(Connection):
    """Operations that compare closed forms, lower bounds and simulated costs of algorithms."""

    def cost_table(
        self,
        topology: OptionalTopology = None,
        *,
        collective: Annotated[Collective | None, Shell(str, completes="collectives")] = None,
        ports: Ports | None = None,
        message_bytes: MessageBytes = 65536,
        t_s: NumberOption = 100,
        t_c: NumberOption = 1,
        segments: Annotated[int | str, Shell(str)] = "best",
        messages: int | None = None,
        copies: int = 1,
        hypercube: int | None = None,
        simulate: bool = True,
        execution: ExecutionModel = "synchronous",
        max_rows: Annotated[int, Shell(least=0)] = MAX_ROWS,
        bounds: RequestedBound | None = None,
        experiment: Annotated[str | None, Shell(metavar="NAME", completes="experiments")] = None,
        table: Annotated[
            str | None,
            Shell(
                metavar="TABLE",
                default="the table for which the experiment's example grid was made",
            ),
        ] = None,
        conditions: ConditionsOption = (),
    ) -> CostTable:
        """Compare the costs of algorithms on a topology, or fill a paper's table with stored runs.

        For a topology, no server is needed. The rows of each collective are sorted by time. A row
        is an algorithm that starcast can execute, a lower bound, or a row of a paper's table. The
        time of a row, start_ups T_s + bytes T_c, is computed exactly by a closed form. The column
        'pieces' shows the number of segments or unit messages (by default the optimal number), and
        'real_pieces' shows the optimum over the real numbers. The gap is the time divided by the
        lower bound for the same number of copies. The simulated values come from an execution of
        the schedule. A note explains differences between these values and the closed form.

        With ``experiment``, a paper's table is shown for each topology, message and machine of the
        stored runs. The values of a row come from the fastest stored run of the row's algorithm.
        Runs with faults and asynchronous runs are ignored. If a row's algorithm comes from another
        work and starcast cannot execute it, the row is marked as cited and shows the paper's closed
        form, if there is one. Papers are cited by their keys in references.bib.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            collective: show only this collective, such as broadcast (default: all).
            ports: show only this port model: all (a node uses all ports in a step), or one (one
                port to send and one to receive). Default: both port models.
            message_bytes: size of a message in bytes, such as 1024, 2.5 or 23/3. In a scatter,
                gather or alltoall, this is the size of the message from a source to a destination.
            t_s: start-up time per packet (T_s in the papers), in any unit of time.
            t_c: time per byte (T_c in the papers), in the same unit as ``t_s``.
            segments: number of equal parts into which a message, or each tree's share of a message,
                is divided; ``best`` selects the number with the shortest time.
            messages: number of unit messages into which each message is divided, for algorithms
                that send unit messages (default: the value of ``segments``).
            copies: number of edge-disjoint trees that carry each message, for algorithms that use
                such trees.
            hypercube: dimension of the hypercube with which the papers' tables compare the topology
                (default: that of the smallest hypercube with at least as many nodes).
            simulate: also execute the schedules that have at most ``max_rows`` rows.
            execution: execution model of the simulations: synchronous (all packets of a step start
                together), or asynchronous (each packet starts as soon as it can).
            max_rows: maximum number of rows of a simulated schedule.
            bounds: also compute a lower bound that is slow to compute: ``cut`` (by the bottleneck
                cut, for allgather and reduce-scatter) or ``lp`` (by a linear program, for
                alltoall).
            experiment: fill a paper's table with the stored runs of this experiment, instead of
                computing costs on a topology.
            table: the paper's table to fill with the runs of ``experiment``, such as
                tseng-sheu-1997-table-1.
            conditions: use only runs of ``experiment`` that meet this condition, such as
                topology=S5. Can be repeated: values of the same axis are alternatives, and
                conditions on different axes must all hold.

        Raises:
            InputError: a name or a number is wrong, or neither a topology nor an experiment is
                given.
            NotFoundError: no experiment with this name is stored, or none of its runs belongs to a
                row of the table.
            RejectedError: a schedule violates its port model or leaves units undelivered.

        Example:
            >>> "multiple" in lab.cost_table("S4", collective="broadcast", ports="all")["name"]
            True

            $ starcast cost table S7 --collective broadcast --ports all
            $ starcast cost table S5 --collective allgather -m 1024 --no-simulate -f markdown
            $ starcast cost table S6 --collective scatter --messages 5 --copies 2
            $ starcast experiment run ts1 --grid tseng-sheu-1997-table-1
            $ starcast cost table --experiment ts1 --where topology=S5 -f latex > table.tex
        """
        if experiment is not None:
            # A stored run has its own values of these parameters, so the options would have no
            # effect.
            computed = {
                "topology": topology, "collective": collective, "ports": ports, "t_s": t_s,
                "message_bytes": message_bytes, "t_c": t_c, "segments": segments,
                "messages": messages, "copies": copies, "hypercube": hypercube,
                "simulate": simulate, "execution": execution, "max_rows": max_rows,
                "bounds": bounds,
            }  # fmt: skip
            defaults = signature(Costs.cost_table).parameters
            for name, value in computed.items():
                # The values are compared as text, because the command line passes numbers as text.
                if str(value) != str(defaults[name].default):
                    raise InputError(
                        f"`{name}` applies only to computed costs, but an experiment is given",
                        hint=f"omit `{name}`; select runs with `conditions`, such as topology=S5",
                    )
            return self._paper_table(experiment, table, as_conditions(conditions))
        if topology is None:
            raise InputError(
                "neither a topology nor an experiment is given",
                hint="specify a topology, such as S5, or show stored runs with `experiment`",
            )
        if table is not None or conditions:
            raise InputError(
                "`table` and `conditions` apply only to stored runs",
                hint="add `experiment`, or omit `table` and `conditions`",
            )
        from starcast.collectives.model import COLLECTIVES, PORT_MODELS
        from starcast.costs.presentation import COLUMNS, part_of_costs
        from starcast.costs.tables import CostProblem
        from starcast.support.axes import BEST, read_count, read_number
        from starcast.support.latex import table_label

        network = read_topology(topology)
        machine = _machine(t_s, t_c)
        size = read_number(message_bytes, "message_bytes")
        pieces = read_count(segments, "segments", (BEST,))
        title = f"on {network.spec}, m = {message_bytes}, T_s = {t_s}, T_c = {t_c}"
        if execution != "synchronous":
            title += f", simulated {execution}ly"
        records: list[Row] = []
        parts: list[CostPart] = []
        for name in [collective] if collective else COLLECTIVES:
            rows: list[Row] = []
            for model in [ports] if ports else PORT_MODELS:
                problem = CostProblem(
                    network,
                    name,
                    model,
                    size,
                    machine,
                    None if pieces == BEST else int(pieces),
                    messages,
                    copies,
                    hypercube,
                    execution,
                    bounds,
                )
                costs = self._costs(problem, max_rows if simulate else 0)
                label = table_label("cost", name, network.spec, model)
                parts.append(part_of_costs(costs, f"{name} {title}, {model}-port", label))
                rows += costs
            # Rows without a time come last. The key has two parts, because Python cannot compare
            # None with numbers.
            rows.sort(key=lambda row: (row["time"] is None, row["time"] or 0))
            records += [{"topology": network.spec, "collective": name, **row} for row in rows]
        listed = Table.of(records, ("topology", "collective", *COLUMNS))
        return CostTable(listed.columns, listed.rows, parts=tuple(parts))

    def _paper_table(
        self, experiment: str, table: str | None, conditions: Sequence[str]
    ) -> CostTable:
        """Return the stored runs of an experiment as a paper's table."""
        from starcast.comparison.listing import (
            case_values,
            find_table,
            paper_rows,
            table_of,
            tabulate,
        )
        from starcast.comparison.sides import load_sides, read_conditions
        from starcast.costs.presentation import part_of_paper
        from starcast.stores.database import repository

        # An invalid condition or name is an error even if no server is running.
        selection = read_conditions(conditions)
        if table is not None:
            find_table(table)
        with self._session() as session:
            name = table or table_of(repository.load_experiment(session, experiment))
            (side,) = load_sides(session, [experiment], selection, self.reporter)
            chosen = find_table(name)
            cases = paper_rows(chosen, side.runs)
        records = tabulate(chosen, cases)
        parts = tuple(
            part_of_paper(name, chosen, case_values(chosen, case), rows) for case, rows in cases
        )
        return CostTable(records.columns, records.rows, parts=parts, is_paper=True)

    def _costs(self, problem: "CostProblem", max_rows: int) -> list[Row]:
        """Return the rows of a cost table for a collective in a port model, sorted by time."""
        from starcast.costs.tables import build_table

        return [
            with_numbers(
                {
                    "ports": problem.ports,
                    "name": row.name,
                    "source": row.source,
                    "cited": row.cited,
                    "pieces": row.pieces,
                    # The value 0 means that fewer pieces are always better, so there is no optimum
                    # to show.
                    "real_pieces": row.real_pieces or None,
                    **{name: getattr(row.cost, name, None) for name in COSTS},
                    "lower_bound": row.bound.time,
                    "gap": rounded(row.gap),
                    **self._simulated(problem, row, max_rows),
                    "note": row.note or None,
                }
            )
            for row in build_table(problem)
        ]

    def _simulated(self, problem: "CostProblem", row: "CostRow", max_rows: int) -> Row:
        """Return the simulated steps, time and gap of a row, as values by column name.

        The result is empty if the row has no schedule or ``max_rows`` is 0. If the schedule is too
        large to simulate, the result is empty, and the reason is reported.
        """
        from starcast.costs import tables
        from starcast.support.errors import LimitError

        if not max_rows:
            return {}
        try:
            cost = tables.execute_row(problem, row, max_rows)
        # The row keeps its closed form if the schedule is too large to simulate.
        except LimitError as error:
            self.reporter.say(f"not simulated: {error.message}")
            return {}
        if cost is None:
            return {}
        return {
            "simulated_steps": cost.steps,
            "simulated_time": cost.time,
            "simulated_gap": rounded(row.gap_of(cost)),
        }

    def optimum(
        self,
        topology: TopologyName,
        collective: CollectiveName,
        algorithm: Annotated[str, Shell(completes="algorithms")],
        *,
        ports: Ports = "all",
        message_bytes: MessageBytes = 65536,
        t_s: NumberOption = 100,
        t_c: NumberOption = 1,
        copies: int | None = None,
    ) -> Table:
        """Find the number of segments or unit messages for which an algorithm is fastest.

        The time is computed by the paper's closed form, and is minimized over the integers and over
        the real numbers. If fewer segments or messages are always better, no real optimum exists.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            collective: the collective: broadcast, allgather, scatter, gather, alltoall, reduce,
                reduce-scatter or allreduce.
            algorithm: an algorithm, such as multiple.
            ports: port model: all (a node uses all ports in a step), or one (one port to send and
                one to receive).
            message_bytes: size of a message in bytes, such as 1024, 2.5 or 23/3. In a scatter,
                gather or alltoall, this is the size of the message from a source to a destination.
            t_s: start-up time per packet (T_s in the papers), in any unit of time.
            t_c: time per byte (T_c in the papers), in the same unit as ``t_s``.
            copies: number of edge-disjoint trees that carry each message, for algorithms that use
                such trees.

        Raises:
            InputError: a name or a number is wrong, or the algorithm does not split its messages or
                has no closed form.

        Example:
            >>> lab.optimum("S7", "broadcast", "multiple", message_bytes=10**6)["optimum"]
            [216]

            $ starcast cost optimum S7 broadcast multiple -m 1e6
            $ starcast cost optimum S6 broadcast edge-disjoint --copies 2
        """
        from starcast.collectives.algorithm import find_algorithm
        from starcast.costs import closed_form, optimal_pieces
        from starcast.support.axes import read_number

        machine = _machine(t_s, t_c)
        size = read_number(message_bytes, "message_bytes")
        given: dict[str, int | str] = {} if copies is None else {"copies": copies}
        topology = read_topology(topology)
        real, best = optimal_pieces(topology, collective, algorithm, ports, size, machine, **given)
        argument = str(find_algorithm(collective, algorithm).split_argument)
        given[argument] = best
        cost = closed_form(topology, collective, algorithm, ports, size, machine, **given)
        row = {
            "argument": argument,
            "real_optimum": real or None,
            "optimum": best,
            "steps": cost.steps,
            "time": cost.time,
            "source": cost.source,
            "note": cost.note or None,
        }
        return Table.of([with_numbers(row)], row)


def _machine(t_s: NumberOption, t_c: NumberOption) -> "Machine":
    from starcast.costs import Machine
    from starcast.support.axes import read_number

    return Machine(read_number(t_s, "t_s"), read_number(t_c, "t_c"))
