"""The operations on topologies and schedules that are computed on demand, without a server."""

import os
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from starcast.lab.artifacts import Artifacts
from starcast.lab.connection import Connection
from starcast.lab.forests import is_forest, load_forest
from starcast.lab.results import ExchangeFile, Picture
from starcast.lab.signature import (
    CollectiveName,
    LayoutOption,
    OptionalTopology,
    OutFile,
    Root,
    Shell,
    TopologyName,
    as_list,
    check_suffix,
    is_network_file,
    read_topology,
)
from starcast.support.errors import InputError, LimitError, only_one_of
from starcast.support.table import Facts, Table, as_rows
from starcast.support.vocabulary import (
    Collective,
    ExecutionModel,
    GoalDialect,
    Ports,
    RowsFormat,
    ScheduleFormat,
    TopologyFormat,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from starcast.collectives import Schedule
    from starcast.topologies import Topology
    from starcast.trees import Forest


class Networks(Artifacts):
    """Operations on computed and stored topologies."""

    def families(self) -> Table:
        """List the families of topologies, how their specs are written, and their papers.

        A spec is the name of a topology, such as S5. No server is needed.

        Example:
            >>> lab.families()["family"][:3]
            ['star', 'nk-star', 'hypercube']

            $ starcast topology families
        """
        import starcast.topologies  # noqa: F401 - declares the families
        from starcast.catalogue.entries import FAMILIES

        rows = [
            {"family": each.name, "specs": each.spelling, "paper": each.source}
            for each in FAMILIES.values()
        ]
        return Table.of(rows, ("family", "specs", "paper"))

    def show_topology(
        self, topology: TopologyName, *, stored: bool = False, verify: bool = False
    ) -> Facts:
        """Show a topology's numbers of nodes and links, and its distances.

        The distance profile lists the number of nodes at distance 0, 1, ... from a node. If these
        numbers can differ between nodes, because the topology has no translations, the profile
        lists the number of ordered pairs of endpoints at each distance. Endpoints are the nodes
        that are not switches. The reverse port of a port is the port of the same link at the
        neighbour.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            stored: show the values in PostgreSQL instead of computing them; implied by ``verify``.
            verify: also check that the counts and checksums in Neo4j equal the values recorded when
                the topology was stored.

        Raises:
            InputError: the topology is unknown.
            NotFoundError: the stored values are requested, but the topology is not stored.
            RejectedError: ``verify`` is given, and the counts or checksums in Neo4j differ; or
                another network is stored with the spec of the network in the file.

        Example:
            >>> lab.show_topology("S6")["diameter"]
            7

            $ starcast topology show S6
            $ starcast topology show S5 --stored --verify
        """
        from starcast.topologies.base import describe_topology

        if stored or verify:
            if not isinstance(topology, str) or is_network_file(topology):
                from starcast.stores.database.networks import check_network

                topology = read_topology(topology).spec
                with self._session() as session:
                    check_network(session, topology)
            return self.show(topology, kind="topology", verify=verify)
        found = read_topology(topology)
        facts = describe_topology(found)
        if facts["diameter"] is None:
            try:
                _ = found.diameter
            except LimitError as error:
                self.reporter.say(error.message)
        # The spec already shows n and k.
        hidden = ["n", "k", "translation_keeps_ports"]
        if found.has_translations:  # every node has a link at every port
            hidden += ["port_count", "has_translations"]
        if found.endpoints == found.nodes:
            hidden.append("endpoints")
        return Facts({name: value for name, value in facts.items() if name not in hidden})

    def draw_topology(self, topology: TopologyName, *, layout: LayoutOption = None) -> Picture:
        """Draw a topology, with links coloured by port. No server is needed.

        Topologies of up to 128 nodes, such as S5, can be drawn; ``starcast explore`` shows larger
        topologies.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            layout: arrangement of the nodes. The available layouts and the default depend on the
                topology.

        Raises:
            InputError: the topology is unknown, or does not have this layout.
            LimitError: the topology has more than 128 nodes.

        Example:
            $ starcast topology draw S4 --out star.svg
            $ starcast topology draw S4 --layout torus --out torus.pdf
        """
        from starcast import drawing

        found = read_topology(topology)
        return Picture(drawing.draw_topology(found, layout), found.spec)

    def export_topology(self, topology: TopologyName, *, to: TopologyFormat) -> ExchangeFile:
        """Write a topology to a file for another tool. No server is needed.

        Nodes are numbered by rank, from 0 (in metis files from 1). Files in graphml, gexf and dot
        also contain labels and ports.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            to: format of the file.

        Returns:
            An `ExchangeFile`, whose method `save` writes the file.

        Raises:
            InputError: the topology is unknown.
            LimitError: the topology exceeds a limit of the format, when the file is written.

        Example:
            $ starcast topology export S5 --to graphml --out s5.graphml
            $ starcast topology export S6 --to metis --out s6.graph
        """
        return ExchangeFile(read_topology(topology), to)

    def explore(
        self,
        topology: TopologyName,
        *,
        out: OutFile,
        forest: Annotated[
            "str | Path | Forest | Sequence[str | Path | Forest]",
            Shell(Sequence[str], completes="constructions"),
        ] = (),
        schedule: Annotated[str | Sequence[str], Shell(Sequence[str])] = (),
        root: Root = None,
        state: str | None = None,
    ) -> Facts:
        """Write a page that shows a topology, forests and schedules in any browser, offline.

        The page contains its scripts and data and loads no other files, so it can be sent by
        e-mail. No server is needed.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            out: output file, such as page.html.
            forest: a forest to show: a construction, such as multiple, or a file that ``starcast
                forest build`` wrote. Can be repeated. In Python, `Forest` objects are also
                accepted.
            schedule: a schedule to show, written as COLLECTIVE:ALGORITHM, such as
                ``broadcast:multiple(segments=4)``; append ``:one`` for the one-port model. Can be
                repeated.
            root: root of the forests and schedules: a label, or a rank such as #6 (default: the
                node of rank 0). The layout 'levels' also arranges the nodes by distance from this
                root.
            state: initial state of the page, written like the URL fragment of the explorer (after
                the #), such as ``step=3&node=21345``.

        Returns:
            The ids of the forests and schedules, the path of the file, and its size in bytes.

        Raises:
            InputError: a name, an argument, the root or a file is wrong.
            RejectedError: a tree of a forest is not a spanning tree.
            LimitError: the topology or a schedule is too large for a page.

        Example:
            >>> lab.explore("S5", forest=["multiple"], out="page.html")["forests"]
            ['S5:multiple:12345']

            $ starcast explore S5 --out s5.html
            $ starcast explore S5 --forest multiple --schedule broadcast:multiple --out page.html
            $ starcast explore S4 --schedule alltoall:exact --state step=2 --out s4.html
        """
        from starcast.drawing import explorer
        from starcast.support.atomic import atomic_write
        from starcast.trees import Forest

        check_suffix(out, ".html", ".htm")
        network = read_topology(topology)
        sources = as_list("forest", forest, (str, Path, Forest), "a construction, file or Forest")
        at: int | str = 0 if root is None else root
        # A forest file contains its topology and its root. A construction needs them as arguments.
        forests = [
            load_forest(name) if is_forest(name) else load_forest(network, str(name), {"root": at})
            for name in sources
        ]
        for built in forests:
            built.verify()
        names = as_list("schedule", schedule, (str,), "a schedule such as broadcast:greedy")
        schedules = [explorer.build_schedule(network, name, at) for name in names]
        page = explorer.build_page(network, forests, schedules, state, at).encode()
        with atomic_write(Path(out)) as file:
            file.write(page)
        held = {
            "forests": [each.id for each in forests],
            "schedules": [each.id for each in schedules],
        }
        contents = ", ".join(held["forests"] + held["schedules"] or [network.spec])
        return Facts(
            {**held, "file": str(out), "bytes": len(page)},
            f"wrote {contents} to {out}: {len(page) / 1e6:,.2f} MB",
        )


AlgorithmOrFile = Annotated["str | Path", Shell(str, completes="algorithms")]

#: An argument ``algorithm`` with one of these suffixes is a schedule file, even if the file does
#: not exist.
_ROW_FILES = (".csv", ".goal", ".xml", ".json")
FileFormatOption = Annotated[RowsFormat | None, Shell(flag="--from")]


class ScheduleOptions(TypedDict, total=False):
    """Options that define a schedule, together with its topology, collective and algorithm.

    Attributes:
        ports: port model: all (a node uses all ports in a step), or one (one port to send and one
            to receive). Default: the first port model that the algorithm supports, or all for a
            schedule file.
        root: root of the schedule, or source of a symmetric schedule: a label, or a rank such as #6
            (default: the node of rank 0). In Python, the rank can also be an integer.
        segments: number of equal parts into which each tree's share of a message is divided, for
            algorithms that segment messages.
        messages: number of unit messages into which each message is divided, for algorithms that
            send unit messages.
        copies: number of edge-disjoint trees that carry each message, for algorithms that use such
            trees.
        base: construction whose trees the algorithm uses, for algorithms such as forest and
            dimension-change.
        expand: include the rows of all sources. Otherwise, a symmetric schedule has only the rows
            of one source; the rows of the other sources are translations of these rows.
        file_format: format of the schedule file (default: detected from the content or, failing
            that, from the suffix).
    """

    ports: Ports | None
    root: Root
    segments: int | None
    messages: int | None
    copies: int | None
    base: Annotated[str | None, Shell(completes="constructions")]
    expand: bool
    file_format: FileFormatOption


class Schedules(Connection):
    """Operations that list, draw and export schedules built by algorithms or read from files."""

    def algorithms(
        self,
        topology: OptionalTopology = None,
        *,
        collective: Annotated[Collective | None, Shell(str, completes="collectives")] = None,
    ) -> Table:
        """List the algorithms with their families, port models, arguments and papers.

        No server is needed.

        Args:
            topology: list only algorithms that are defined on this topology, such as S5.
            collective: list only algorithms for this collective, such as broadcast.

        Raises:
            InputError: the topology or the collective is unknown.

        Example:
            >>> lab.algorithms("S5", collective="alltoall")["algorithm"]
            ['necklace', 'perfectly-balanced', 'one-port', 'exact', 'edge-disjoint', 'greedy']

            $ starcast schedule algorithms S5 --collective alltoall
        """
        from starcast.collectives.algorithm import algorithms, algorithms_on

        if topology is None:
            selected = algorithms(collective)
        else:
            selected = algorithms_on(read_topology(topology), collective)
        rows = [
            {
                "collective": algorithm.collective,
                "algorithm": algorithm.name,
                "families": list(algorithm.families),
                "ports": list(algorithm.ports),
                "arguments": list(algorithm.argument_names),
                "paper": algorithm.source,
            }
            for algorithm in selected
        ]
        columns = ("collective", "algorithm", "families", "ports", "arguments", "paper")
        return Table.of(rows, columns)

    def schedule_rows(
        self,
        topology: TopologyName,
        collective: CollectiveName,
        algorithm: AlgorithmOrFile,
        **options: Unpack[ScheduleOptions],
    ) -> Table:
        """List the rows of a schedule; each row sends one unit over one link.

        Each row contains step, sender, port, receiver, tree, unit and, in a reduction, combine.

        No server is needed.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            collective: the collective: broadcast, allgather, scatter, gather, alltoall, reduce,
                reduce-scatter or allreduce.
            algorithm: an algorithm, such as multiple or ``edge-disjoint(copies=2)``, or a schedule
                file, such as mine.csv.
            options: port model, root and other options of the schedule; see `ScheduleOptions`.

        Raises:
            InputError: a name or an argument is wrong, or the file cannot be read.
            LimitError: the schedule does not fit into memory.

        Example:
            >>> lab.schedule_rows("S3", "broadcast", "greedy")["receiver"]
            ['213', '321', '312', '231', '132']

            $ starcast schedule rows S3 alltoall exact
            $ starcast schedule rows S5 allgather necklace --format csv > rows.csv
        """
        from starcast.formats.writing import table_columns

        columns = table_columns(build_schedule(topology, collective, algorithm, options))
        return Table(tuple(columns), as_rows(columns))

    def draw_schedule(
        self,
        topology: TopologyName,
        collective: CollectiveName,
        algorithm: AlgorithmOrFile,
        *,
        step: Annotated[int | Sequence[int], Shell(Sequence[int])] = (),
        animate: bool = False,
        chart: bool = False,
        layout: LayoutOption = None,
        **options: Unpack[ScheduleOptions],
    ) -> Picture:
        """Draw the busy links, and the units at each node, in each step of a schedule.

        No server is needed.

        A node has the same position in all steps. For a symmetric schedule, only the units of one
        source are drawn.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            collective: the collective: broadcast, allgather, scatter, gather, alltoall, reduce,
                reduce-scatter or allreduce.
            algorithm: an algorithm, such as multiple or ``edge-disjoint(copies=2)``, or a schedule
                file, such as mine.csv.
            step: number of a step to draw, counted from 1; can be repeated (default: all steps side
                by side).
            animate: draw all steps as an animation, which needs an SVG output file.
            chart: draw a table with the number of units per port and step, instead of the network.
            layout: arrangement of the nodes. The available layouts and the default depend on the
                topology.
            options: port model, root and other options of the schedule; see `ScheduleOptions`.

        Raises:
            InputError: a name or an argument is wrong, options cannot be combined, a step is out of
                range, or the topology does not have this layout.
            LimitError: the drawing would have too many nodes or steps.

        Example:
            $ starcast schedule draw S4 broadcast multiple --out steps.svg
            $ starcast schedule draw S4 broadcast multiple --step 3 --layout torus --out step.pdf
            $ starcast schedule draw S5 scatter balanced --animate --out scatter.svg
        """
        from starcast import drawing

        steps = as_list("step", step, (Integral,), "the number of a step")
        only_one_of(step=bool(steps), animate=animate, chart=chart)
        only_one_of("remove one of them; a chart has no layout", layout=layout, chart=chart)
        schedule = build_schedule(topology, collective, algorithm, options)
        if animate:
            return Picture(drawing.animate_schedule(schedule, layout), schedule.id, animated=True)
        if chart:
            return Picture(drawing.draw_schedule(schedule), schedule.id)
        return Picture(drawing.draw_steps(schedule, steps or None, layout), schedule.id)

    def export_schedule(
        self,
        topology: TopologyName,
        collective: CollectiveName,
        algorithm: AlgorithmOrFile,
        *,
        to: ScheduleFormat,
        unit_bytes: Annotated[int | None, Shell(default="64")] = None,
        t_s: Annotated["float | str | Fraction | None", Shell(str, default="100")] = None,
        t_c: Annotated["float | str | Fraction | None", Shell(str, default="1")] = None,
        execution: Annotated[ExecutionModel | None, Shell(default="synchronous")] = None,
        dialect: Annotated[GoalDialect | None, Shell(default="loggopsim")] = None,
        **options: Unpack[ScheduleOptions],
    ) -> ExchangeFile:
        """Write a schedule to a file for another tool. No server is needed.

        LogGOPSim and ATLAHS read the format ``goal``, MSCCL and RCCL read ``msccl-xml``, and
        Perfetto reads ``chrome-trace``. For these three formats, the schedule is first expanded to
        all sources and simulated. The formats ``csv`` and ``parquet`` contain the rows of the
        schedule. If a schedule file is given instead of an algorithm, the file is converted.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            collective: the collective: broadcast, allgather, scatter, gather, alltoall, reduce,
                reduce-scatter or allreduce.
            algorithm: an algorithm, such as multiple or ``edge-disjoint(copies=2)``, or a schedule
                file, such as mine.csv.
            to: format of the file.
            unit_bytes: size of a unit in bytes, for the formats goal and chrome-trace.
            t_s: start-up time per packet (T_s in the papers) in microseconds, for the format
                chrome-trace.
            t_c: time per byte (T_c in the papers) in microseconds, for the format chrome-trace.
            execution: execution model, for the format chrome-trace: synchronous (all packets of a
                step start together), or asynchronous (each packet starts as soon as it can).
            dialect: simulator that will read the goal file.
            options: port model, root and other options of the schedule; see `ScheduleOptions`.

        Returns:
            An `ExchangeFile`, whose method `save` writes the file.

        Raises:
            InputError: a name or an argument is wrong, or the file cannot be read.
            LimitError: the schedule does not fit into memory.

        Example:
            $ starcast schedule export S5 broadcast multiple --segments 16 --to goal --out s5.goal
            $ starcast schedule export S4 alltoall exact --to goal --dialect atlahs --out s4.goal
            $ starcast schedule export S4 alltoall exact --to msccl-xml --out s4.xml
            $ starcast schedule export S4 allgather necklace --to chrome-trace --t-s 50
            $ starcast schedule export S4 scatter mine.csv --to goal --out mine.goal
        """
        schedule = build_schedule(topology, collective, algorithm, options)
        given = {"unit_bytes": unit_bytes, "t_s": t_s, "t_c": t_c, "execution": execution}
        return ExchangeFile(schedule, to, {**given, "dialect": dialect})


def build_schedule(
    topology: "str | Path | Topology",
    collective: Collective,
    algorithm: str | Path,
    options: ScheduleOptions,
) -> "Schedule":
    """Build the schedule of an algorithm, or read a schedule file.

    Raises:
        InputError: a name or an argument is wrong, or the file cannot be read.
        LimitError: the schedule does not fit into memory.
        RejectedError: the option ``expand`` is set, and a row of the schedule is invalid; or the
            operations in the file do not execute the collective.
    """
    from starcast.collectives.algorithm import schedule
    from starcast.formats import read_schedule

    arguments: dict[str, Any] = {k: value for k, value in options.items() if value is not None}
    ports = arguments.pop("ports", None)
    root = arguments.pop("root", 0)
    expand = arguments.pop("expand", False)
    network = read_topology(topology)
    file_format = arguments.pop("file_format", None)
    if not (file_format or is_file(algorithm)):
        built = schedule(network, collective, str(algorithm), ports, root, **arguments)
        return built.expand() if expand else built
    if arguments:
        option = next(iter(arguments))
        raise InputError(
            f"`{option}` cannot be combined with the schedule file {algorithm}",
            hint=f"remove `{option}`, or specify an algorithm instead of the file",
        )
    return read_schedule(algorithm, network, collective, ports or "all", root, file_format)


def is_file(algorithm: str | Path) -> bool:
    """Return whether an argument ``algorithm`` is a schedule file, not an algorithm's name."""
    # A name with the suffix of a schedule file is never an algorithm, so if there is no such file,
    # the error reports a missing file. No algorithm has a name with a slash or a suffix.
    name = str(algorithm)
    if isinstance(algorithm, Path) or name.lower().endswith(_ROW_FILES):
        return True
    return bool({"/", "."}.intersection(name)) and os.path.exists(name)  # noqa: PTH110 - never raises
