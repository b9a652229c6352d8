"""Compute the tables and pictures of networks-compared.md.

The page compares star graphs with other networks, by executing starcast's example experiment
``networks-compared``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

from marked import fill_tables, head, row

import starcast
from starcast.experiments.design import group_by_structure, read_design
from starcast.experiments.execution import execute, price_run
from starcast.experiments.point import Point
from starcast.support.vocabulary import EXECUTION_MODELS
from starcast.topologies import topology
from starcast.topologies.flows import link_connectivity

PAGE = Path(__file__).parent / "networks-compared.md"
STARS = ("S5", "S6")
COLLECTIVES = ("broadcast", "allgather", "allreduce", "alltoall")
#: Message sizes in bytes; in an allreduce, a message is a vector.
SHORT, LONG = 64, 65536
#: Algorithms that work on any network. `greedy` is another such algorithm, but in the collectives
#: `_TSENG_SHEU` on star graphs, an algorithm of Tseng & Sheu has this name.
GENERAL = ("greedy-matching", "forest(base=arc-disjoint)", "forest(base=breadth-first)")


class Result(NamedTuple):
    """A run of the experiment: the simulated time and steps, and the lower bounds on both."""

    point: Point
    time: Fraction
    bound: Fraction
    steps: int | None
    least_steps: int | None


def page() -> str:
    """Return the text of networks-compared.md with new tables, and write its pictures."""
    for star in STARS:
        draw(star)
    return fill_tables(PAGE, Path(__file__).name, TABLES)


@cache
def networks(star: str) -> list[str]:
    """Return the networks that are compared with a star graph, the star graph first."""
    every = dict.fromkeys(point.topology for point in read_design("networks-compared").points())
    near = [spec for spec in every if is_near(spec, star)]
    return sorted(near, key=lambda spec: (spec != star, topology(spec).degree, spec))


def is_near(spec: str, star: str) -> bool:
    """Return whether a network's number of nodes is between half and twice that of a star graph."""
    return max(topology(spec).nodes, topology(star).nodes) <= 2 * min(
        topology(spec).nodes, topology(star).nodes
    )


def star_of(spec: str) -> str:
    """Return the first star graph in `STARS` that `is_near` accepts for a network."""
    return next(star for star in STARS if is_near(spec, star))


@cache
def results(spec: str, *, per_node: bool = False) -> list[Result]:
    """Execute the experiment's runs on a network, and return the results.

    Args:
        spec: the network.
        per_node: whether to compare networks with equal bandwidth per node instead of per link. T_c
            is then multiplied by the degree of the network and divided by that of the star graph,
            and only runs with messages of `LONG` bytes are executed.
    """
    points = [
        point for point in read_design("networks-compared").points() if point.topology == spec
    ]
    if per_node:
        t_c = Fraction(topology(spec).degree, topology(star_of(spec)).degree)
        points = [replace(each, t_c=t_c) for each in points if each.message_bytes == LONG]
    found = []
    for together in group_by_structure(points):
        execution = execute(together[0])
        for point in together:
            costs = {cost.kind: cost for cost in price_run(point, execution).costs}
            run, bound = costs["simulated"], costs["lower bound"]
            found.append(Result(point, run.time, bound.time, run.steps, bound.steps))
    return found


def fastest(
    spec: str, collective: str, execution: str, length: int, *, per_node: bool = False
) -> Result:
    """Return the fastest all-port run of a collective on a network, in an execution model.

    The argument ``length`` is the message size in bytes; `results` explains ``per_node``.
    """
    chosen = select(results(spec, per_node=per_node), collective, length)
    return min(
        (each for each in chosen if each.point.execution == execution), key=lambda each: each.time
    )


def select(found: Iterable[Result], collective: str, length: int) -> list[Result]:
    """Return, of the runs in ``found``, the all-port runs with this collective and message size."""
    return [
        each
        for each in found
        if (each.point.collective, each.point.ports) == (collective, "all")
        and each.point.message_bytes == length
    ]


def properties() -> Iterator[str]:
    """Yield the lines of a table of the networks' properties, such as degree and diameter."""
    names = "nodes", "degree", "links", "diameter", "mean distance", "k"
    yield from head("network", "family", *names, "alike")
    for spec in (spec for star in STARS for spec in networks(star)):
        graph = topology(spec)
        mean = f"{float(graph.mean_distance):.2f}"
        k = link_connectivity(graph)
        alike = "yes" if graph.has_translations else ""
        counts = graph.nodes, graph.degree, graph.links, graph.diameter
        yield row(f"`{spec}`", graph.family, *counts, mean, k, alike)


def times(star: str, collective: str) -> Iterator[str]:
    """Yield the lines of a table with the fastest algorithm of a collective on each network.

    The table shows the time, the algorithm, and the time divided by its lower bound (the gap).
    """
    columns = [f"{title}: {name}" for title in ("64 B", "64 KiB") for name in ("time", "gap", "by")]
    yield from head("network", *columns)
    for spec in networks(star):
        cells = [cell for length in (SHORT, LONG) for cell in _cells(spec, collective, length)]
        yield row(f"`{spec}`", *cells)


def _cells(spec: str, collective: str, length: int) -> tuple[str, str, str]:
    """Return three table cells: the shortest times, the gap, and the algorithm.

    The first cell has the synchronous and the asynchronous time. The gap and the algorithm are
    those of the fastest asynchronous run. The gap is the time divided by its lower bound.
    """
    first, second = (fastest(spec, collective, model, length) for model in EXECUTION_MODELS)
    time = _pair(first.time, second.time)
    return time, f"{float(second.time / second.bound):.3g}", name_of(second.point)


def name_of(point: Point) -> str:
    """Return the algorithm of a run as Markdown, with the number of parts of each split message."""
    argument = point.catalogue_entry.split_argument
    count = point.messages if argument == "messages" else point.segments
    suffix = f", {count} {argument}" if argument is not None and count > 1 else ""
    return f"`{algorithm_of(point)}`{suffix}"


def algorithm_of(point: Point) -> str:
    """Return the algorithm of a run in the form that commands accept."""
    return f"forest(base={point.base})" if point.algorithm == "forest" else point.algorithm


def _pair(first: Fraction, second: Fraction) -> str:
    pair = [f"{round(time):,}".replace(",", " ") for time in (first, second)]
    return pair[0] if pair[0] == pair[1] else " / ".join(pair)


def shares(star: str) -> Iterator[str]:
    """Yield the lines of a table of asynchronous times, divided by the times on the star graph.

    Messages have `LONG` bytes. Each collective has two columns, for networks with equal bandwidth
    per link and for networks with equal bandwidth per node.
    """
    columns = [
        f"{collective}, per {unit}" for collective in COLLECTIVES for unit in ("link", "node")
    ]
    yield from head("network", *columns)
    for spec in networks(star):
        yield row(f"`{spec}`", *(f"{value:.2f}" for value in ratios(star, spec)))


def ratios(star: str, spec: str) -> list[float]:
    """Return a network's values in the table that `shares` yields.

    In an allgather or alltoall, a node receives a message from every other node. The times of these
    collectives are therefore first divided by the number of other nodes.
    """
    found = []
    for collective, per_node in product(COLLECTIVES, (False, True)):
        first, second = (
            fastest(each, collective, "asynchronous", LONG, per_node=per_node).time
            for each in (spec, star)
        )
        if collective in ("allgather", "alltoall"):
            first, second = first / (topology(spec).nodes - 1), second / (topology(star).nodes - 1)
        found.append(float(first / second))
    return found


def rounds() -> Iterator[str]:
    """Yield the lines of a table with the fewest steps of one-port broadcasts, and lower bounds."""
    yield from head("network", "nodes", "steps", "by", "lower bound")
    for spec in (spec for star in STARS for spec in networks(star)):
        found = [each for each in results(spec) if each.point.ports == "one"]
        best = min(found, key=lambda each: each.steps or 0)
        bound = max(each.least_steps or 0 for each in found)
        yield row(f"`{spec}`", topology(spec).nodes, best.steps, name_of(best.point), bound)


def trees() -> Iterator[str]:
    """Yield the lines of a table that compares trees of the papers with arc-disjoint trees."""
    yield from head("network", "construction", "trees", "heights", "trees per directed link")
    for star in STARS:
        for name in ("multiple", "edge-disjoint", "arc-disjoint"):
            built = starcast.forest(star, name)
            low, high = min(built.heights), max(built.heights)
            heights = str(low) if low == high else f"{low} to {high}"
            yield row(f"`{star}`", f"`{name}`", built.trees, heights, built.congestion)


def structure(star: str) -> Iterator[str]:
    """Yield the lines of a table with the times of each algorithm on a star graph.

    If an algorithm splits messages, the table shows the shortest time over the numbers of parts.
    """
    yield from head("collective", "algorithm", "needs", "64 B", "64 KiB", "gap at 64 KiB")
    for collective in COLLECTIVES:
        found = {length: select(results(star), collective, length) for length in (SHORT, LONG)}
        names = dict.fromkeys(algorithm_of(each.point) for each in found[LONG])
        rows = []
        for name in names:
            cells, last = [], Fraction(0)
            for length in (SHORT, LONG):
                mine = [each for each in found[length] if algorithm_of(each.point) == name]
                pair = [
                    min(each.time for each in mine if each.point.execution == model)
                    for model in EXECUTION_MODELS
                ]
                cells.append(_pair(*pair))
                last = pair[1]
            is_general = name in GENERAL or (name == "greedy" and collective not in _TSENG_SHEU)
            needs = "nothing" if is_general else "star graph"
            gap = f"{float(last / found[LONG][0].bound):.3g}"
            rows.append((last, row(collective, f"`{name}`", needs, *cells, gap)))
        yield from (line for _, line in sorted(rows))


#: Collectives in which `greedy` on a star graph is the algorithm of Tseng & Sheu.
_TSENG_SHEU = ("broadcast", "reduce", "allreduce")


def draw(star: str) -> None:
    """Write an SVG file with bar charts of the values in the table that `shares` yields.

    There is a chart for each collective, with two bars for each network.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    specs = networks(star)
    values = [ratios(star, spec) for spec in specs]
    with rc_context({"svg.hashsalt": "starcast", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8, 5.2), layout="constrained")
        panels = figure.subplots(2, 2, sharex=True).ravel()
        for column, (panel, collective) in enumerate(zip(panels, COLLECTIVES, strict=True)):
            for shift, label in enumerate(("per link", "per node")):
                heights = [each[2 * column + shift] for each in values]
                places = [place + 0.4 * shift - 0.2 for place in range(len(specs))]
                panel.bar(places, heights, width=0.4, label=label)
            panel.axhline(1, color="black", linewidth=0.8)
            panel.set_title(collective)
            panel.set_xticks(range(len(specs)), specs, rotation=60)
            panel.grid(visible=True, axis="y", alpha=0.3)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        figure.suptitle(f"Time for messages of 64 KiB, relative to {star}")
        file = PAGE.with_name(f"networks-compared-{star.lower()}.svg")
        figure.savefig(file, format="svg", metadata={"Date": None})


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "properties": properties,
    **{
        f"{star}-{collective}": partial(times, star, collective)
        for star, collective in product(STARS, COLLECTIVES)
    },
    **{f"{star}-shares": partial(shares, star) for star in STARS},
    "rounds": rounds,
    "trees": trees,
    **{f"{star}-structure": partial(structure, star) for star in STARS},
}
