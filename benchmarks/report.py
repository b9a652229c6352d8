"""Write the benchmark page, and a JSON Lines file with the ratios of each version."""

import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from matplotlib.figure import Figure as Plot

from benchmarks.measure import COLUMNS, Figure, Growth, Table, readable
from starcast.support.errors import InputError

HERE = Path(__file__).parent
RATIOS = HERE / "ratios.jsonl"
PAGE = HERE.parent / "docs" / "benchmarks.md"
#: A ratio is reported if it has become worse by more than this factor. Ratios of two runs under
#: different loads of the machine can differ by up to a third without any change of the code.
TOLERANCE = 1.5

Result = Figure | Growth | Table

#: For each benchmark module, the title and the introduction of its section on the page.
SECTIONS: Mapping[str, tuple[str, str]] = {
    "construction": (
        "Construction",
        """
NetworkX, igraph and rustworkx build a graph from a list of links; SageMath generates the star graph
itself. With numpy, the permutations are encoded as numbers, and the neighbours are looked up in the
sorted numbers. starcast computes the table of neighbours.
""",
    ),
    "verification": (
        "Verification",
        """
With every library, the benchmark checks that each of the n-1 trees is a spanning tree, and computes
its height. NetworkX, igraph and rustworkx build a directed graph from the edges of a tree; numpy
follows the parents of all nodes at once. starcast starts from the array of ports, and also checks
the ports.
""",
    ),
    "simulation": (
        "Simulation",
        """
None of the libraries simulates schedules. So the times are compared with the time to sort one
integer per row of the schedule, and with a simple simulator in Python. This simulator keeps a set
of units for each node, and checks only that senders and receivers are neighbours, and that senders
have the units.
""",
    ),
    "greedy": (
        "Greedy schedules",
        """
The real networks are those of topohub in the groups topozoo, sndlib and backbone. A schedule whose
number of steps equals a lower bound is optimal. The yardstick is the time to simulate the same
schedules.
""",
    ),
    "peers": (
        "Programs for the same questions",
        """
[TACOS](https://github.com/astra-sim/tacos) builds allgathers for any network, and
[ForestColl](https://github.com/liangyuRain/ForestColl) computes the optimal bandwidth of an
allgather on clusters of GPUs. On ForestColl's own graphs, starcast's bottleneck cut gives the same
bandwidths. TACOS makes random choices, so another run may find a schedule with one more step.
NetworkX and rustworkx compute minimum cuts. For small networks, CP-SAT decides whether an allgather
with fewer steps exists.
""",
    ),
    "stores": (
        "Ingestion",
        """
All rates refer to elapsed time with an embedded Neo4j and PostgreSQL. Elapsed time depends on the
other load of the machine.
""",
    ),
    "packs": (
        "Queries",
        """
All times are elapsed times, measured in the client. The yardstick of each query in the first table
is the query `topology/neighbours`, because other load slows both queries and hardly changes their
ratio. The libraries keep their data in memory, and answer most queries about complete forests
faster. [Query packs](queries.md) lists the queries for which Cypher is the wrong tool.
""",
    ),
    "startup": ("Start-up", "All times are elapsed times."),
    "offline": ("Offline imports", "All times are elapsed times."),
    "claims": ("Verification of all claims", "All times are elapsed times with two processes."),
    "model": ("Graph models", "See [decision 7](decisions/0007-graph-model.md)."),
    "bolt": ("Bolt", "All times are elapsed times."),
    "import_floor": ("Lower bounds on imports", "All times are elapsed times."),
    "cluster": ("A Dask cluster on one machine", "All times are elapsed times."),
    "explorer": ("Explorer", "Measured in Chromium, without a graphics card."),
}


@dataclass(frozen=True)
class Record:
    """The ratios that the benchmarks have measured for one version of starcast.

    Attributes:
        version: the version of starcast.
        date: the day of the last run.
        machine: processor and system.
        load: the load of the machine at the beginning and the end of the last run.
        ratios: the speed of starcast relative to the yardstick, by figure and yardstick.
    """

    version: str
    date: str
    machine: str
    load: tuple[float, float]
    ratios: Mapping[str, float]


def describe_machine() -> str:
    """Return the processor, number of cores, and operating system."""
    model = platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    )


def make_record(results: Mapping[str, Sequence[Result]], load_before: float) -> Record:
    """Return the record of a benchmark run, with the current date and load."""
    ratios = {
        f"{figure.what} | {figure.yardstick}": float(f"{figure.speedup:.4g}")
        for part in results.values()
        for figure in part
        if isinstance(figure, Figure)
    }
    return Record(
        version("starcast"),
        f"{datetime.now(UTC):%Y-%m-%d}",
        describe_machine(),
        (round(load_before, 1), round(os.getloadavg()[0], 1)),
        ratios,
    )


def read_records(file: Path = RATIOS) -> list[Record]:
    """Return the records of all versions, oldest first.

    Raises:
        InputError: a line is not a record.
    """
    if not file.exists():
        return []
    records = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            values = json.loads(line)
            values["load"] = tuple(values["load"])
            records.append(Record(**values))
        except (ValueError, TypeError, KeyError):
            raise InputError(
                f"line {number} of {file} is not a record of ratios",
                hint="restore the file from the repository",
            ) from None
    return records


def find_previous(name: str, file: Path = RATIOS) -> Record | None:
    """Return the record with which the version ``name`` is compared.

    Returns:
        The newest record of another version; without one, the earlier record of this version; or
        None if the file has no record.
    """
    records = read_records(file)
    others = [each for each in records if each.version != name]
    return (others or records)[-1] if records else None


def keep_record(record: Record, file: Path = RATIOS) -> None:
    """Store the ratios of a version.

    If the file already has ratios of this version, only those that were measured again are
    replaced.
    """
    records = read_records(file)
    earlier = next((each for each in records if each.version == record.version), None)
    ratios = {**(earlier.ratios if earlier else {}), **record.ratios}
    kept = [each for each in records if each is not earlier] + [replace(record, ratios=ratios)]
    lines = [json.dumps(asdict(each)) for each in kept]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def find_regressions(record: Record, before: Record | None) -> list[str]:
    """Return a line for each ratio that has become worse by more than the factor `TOLERANCE`."""
    if before is None:
        return []
    return [
        f"{name}: {readable(ratio)} times as fast as the yardstick,"
        f" {readable(before.ratios[name])} times in {before.version} ({before.date})"
        for name, ratio in record.ratios.items()
        if name in before.ratios and before.ratios[name] > TOLERANCE * ratio
    ]


class Report:
    """Collects the results of a run, and writes the page and the ratios after each module."""

    def __init__(self) -> None:
        self._load = os.getloadavg()[0]
        self._before = find_previous(version("starcast"))
        self._results: dict[str, Sequence[Result]] = {}

    def add(self, module: str, results: Sequence[Result]) -> None:
        """Add the results of a module, and write the page and the ratios."""
        self._results[module] = results
        record = make_record(self._results, self._load)
        keep_record(record)
        write_page(self._results, record, self._before)

    def regressions(self) -> list[str]:
        """Return a line for each ratio that is much worse than that of the previous version."""
        return find_regressions(make_record(self._results, self._load), self._before)


def write_page(
    results: Mapping[str, Sequence[Result]],
    record: Record,
    before: Record | None,
    page: Path = PAGE,
) -> None:
    """Write the benchmark page and its plots; sections that were not measured remain unchanged."""
    kept = read_sections(page)
    parts = [*_introduction(record), *_comparison(record, before)]
    for name, (title, text) in SECTIONS.items():
        if name in results:
            measured = f"Measured on {record.date}; {_describe_load(record)}."
            parts += [f"## {title}", f"{text.strip()} {measured}"]
            parts += _show(name, results[name], page)
        elif title in kept:
            parts.append(kept[title])
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def read_sections(page: Path) -> dict[str, str]:
    """Return the sections of a benchmark page by title; empty if there is no page."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return {each.partition("\n")[0].removeprefix("## "): each.strip() for each in sections}


def _show(name: str, results: Sequence[Result], page: Path) -> Iterator[str]:
    """Yield the Markdown tables and plots of a section, and write the plots to SVG files."""
    figures = [each for each in results if isinstance(each, Figure)]
    if figures:
        yield _table(COLUMNS, [each.row() for each in figures])
    for number, each in enumerate(part for part in results if not isinstance(part, Figure)):
        yield f"### {each.title}"
        if isinstance(each, Table):
            yield _table(each.columns, each.content)
            continue
        picture = page.with_name(f"benchmarks-{name}-{number + 1}.svg")
        plot_growth(each, picture)
        rows = each.rows()
        yield _table(list(rows[0]), rows)
        yield f"![{each.title}]({picture.name})"


def _describe_load(record: Record) -> str:
    return f"the load average was {record.load[0]} before the run and {record.load[1]} after it"


def _introduction(record: Record) -> Iterator[str]:
    yield "# Benchmarks"
    yield "<!-- Written by 'make bench': do not edit. -->"
    yield (
        f"Measured with starcast {record.version} on this machine: {record.machine}. Each section"
        " states the date of its measurements and the load average of the machine. Absolute times"
        " are valid only for this machine on that day. The ratios are more reliable, because both"
        " times of a ratio were measured in the same run."
    )
    yield (
        "Unless a section says otherwise, each time is the processor time of one process, and the"
        " smallest of up to three measurements. The *yardstick* is another program or operation,"
        " measured in the same run. The *speed relative to yardstick* is the time of the yardstick"
        " divided by the time of starcast; below 1, starcast is slower."
    )


def _comparison(record: Record, before: Record | None) -> Iterator[str]:
    yield "## Compared with the previous version"
    if before is None:
        yield "These are the first ratios. The next run compares its ratios with them."
        return
    worse = find_regressions(record, before)
    shared = len(record.ratios.keys() & before.ratios.keys())
    yield (
        f"{len(worse)} of {shared} ratios are worse than those of {before.version}"
        f" ({before.date}) by more than a factor of {TOLERANCE}."
    )
    if worse:
        yield "\n".join(f"* {line}" for line in worse)


def _table(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> str:
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for row in rows:
        cells = (_cell(row.get(column, "")) for column in columns)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).replace("|", "\\|")


def plot_growth(growth: Growth, file: Path) -> None:
    """Write a plot of costs against topologies, on a logarithmic axis, as SVG."""
    from matplotlib import rc_context  # noqa: PLC0415 - its import is slow

    with rc_context({"svg.hashsalt": "starcast", "svg.fonttype": "none", "font.size": 9}):
        plot = Plot(figsize=(6.5, 3.6), layout="constrained")
        axes = plot.add_subplot()
        for (name, costs), marker in zip(growth.costs.items(), "osD^vPX*" * 2, strict=False):
            specs = [spec for spec in growth.specs if spec in costs]
            places = [growth.specs.index(spec) for spec in specs]
            axes.plot(places, [costs[spec] for spec in specs], marker=marker, label=name)
        axes.set_xticks(range(len(growth.specs)), growth.specs)
        axes.set_yscale("log")
        axes.set_title(growth.title)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=8)
        plot.savefig(file, format="svg", metadata={"Date": None})
