"""Functions that compute topologies, forests and schedules for requests, in worker processes.

`starcast.web.workers` runs these functions. Forests and schedules are cached, because a page
requests several arrays of the same forest or schedule.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from starcast import drawing
from starcast.collectives import Schedule, model
from starcast.collectives.algorithm import algorithms_on, parse_schedule_id
from starcast.drawing import explorer, layouts
from starcast.judges.simulator import Fault, Simulation, find_executed, simulate
from starcast.support.errors import InputError, LimitError
from starcast.support.table import Table, as_rows
from starcast.support.vocabulary import Format
from starcast.topologies import Topology, base
from starcast.topologies import topology as parse_topology
from starcast.topologies.networks import Network
from starcast.trees import Forest, constructions, metrics
from starcast.trees.construction import forest_from_id, plain_constructions
from starcast.web.models import ForestResource

if TYPE_CHECKING:
    from starcast.claims import Verdict

Result = TypeVar("Result")

#: Maximum number of nodes of a topology whose arrays are computed for a request; permits S8.
MAX_NODES = 50_000
#: Maximum number of rows of a schedule that is built for a request.
MAX_ROWS = 1_000_000
#: Maximum number of rows listed as JSON or CSV, and of steps of a simulated schedule.
MAX_LISTED = 100_000
#: Maximum number of faults of a simulation.
MAX_FAULTS = 200

#: The properties of a forest that the API shows, apart from its short name and its URLs.
FOREST = tuple(name for name in ForestResource.model_fields if name in metrics.PROPERTIES)


def compute_on(_network: Network | None, function: Callable[[], Result]) -> Result:
    """Call a function in this worker process, and return its result.

    Unpickling the argument ``_network`` registers the network in this process, so that the function
    can find the network by its spec.
    """
    return function()


def describe_topology(spec: str) -> dict[str, Any]:
    """Return the counts, distances, layouts, constructions and algorithms of a topology."""
    topology = parse_topology(spec)
    return {
        **base.describe_topology(topology),
        **explorer.link_values(topology),
        "port_names": explorer.name_ports(topology),
        "layouts": explorer.list_layouts(topology),
        "constructions": list(constructions(topology)),
        "algorithms": [
            {"collective": each.collective, "algorithm": each.name, "ports": list(each.ports)}
            for each in algorithms_on(topology)
        ],
    }


def neighbour_table(spec: str) -> NDArray[Any]:
    """Return the ranks of the neighbours of all nodes, int32 ``[nodes, ports]``.

    A node without a link at a port has its own rank there.
    """
    return explorer.neighbour_table(_small(spec))


def node_labels(spec: str) -> list[str]:
    """Return the labels of all nodes, by rank."""
    return [str(label) for label in _small(spec).labels().tolist()]


def node_positions(spec: str, name: str, root: str | None) -> NDArray[Any]:
    """Return the positions of all nodes in a layout, float32 ``[nodes, 2]``.

    The layout `levels` measures distances from the node with the label ``root`` (None: rank 0).
    """
    return layouts.layout(_small(spec), name, root or 0)


def list_forests(spec: str) -> list[tuple[str, str]]:
    """Return the id and short name of a forest for each construction that needs no arguments.

    The root is the node of rank 0.
    """
    topology = parse_topology(spec)
    root = topology.stored_label(0)
    return [(f"{topology.spec}:{name}:{root}", name) for name in plain_constructions(topology)]


def list_schedules(spec: str) -> list[tuple[str, str]]:
    """Return the id and short name of a schedule for each algorithm with valid default arguments.

    Each schedule has the default arguments and port model; its root is the node of rank 0.
    """
    topology = parse_topology(spec)
    entries = []
    for each in algorithms_on(topology):
        try:
            values = each.resolve_arguments(topology, {})
        except InputError:  # the defaults are invalid on this topology
            continue
        name = f"{each.collective}:{each.name}"
        entries.append((each.id(topology, each.ports[0], values, 0), name))
    return entries


def check_spec(spec: str) -> None:
    """Check that the explorer can show a topology.

    Raises:
        InputError: no topology has this spec.
        LimitError: the topology is too large.
    """
    _small(spec)


def draw_topology(spec: str) -> str:
    """Return a topology as an SVG document."""
    return drawing.draw_topology(_small(spec))


def describe_forest(forest: str | Forest) -> dict[str, Any]:
    """Return the properties of a forest, which is given by its id or as an object."""
    built = find_forest(forest)
    return {**metrics.describe_forest(built, FOREST), "name": explorer.name_forest(built)}


def parent_ports(forest: str | Forest) -> NDArray[Any]:
    """Return the port from each node to its parent, uint8 ``[trees, nodes]``; 0 for no parent."""
    return find_forest(forest).parent_port


def link_loads(forest: str | Forest) -> NDArray[Any]:
    """Return the number of trees that use each directed link, int32 ``[nodes, ports]``."""
    return find_forest(forest).load().astype(np.int32)


def draw_forest(forest: str | Forest) -> str:
    """Return all trees of a forest as an SVG document."""
    return drawing.draw_forest(find_forest(forest))


def describe_schedule(schedule_id: str) -> dict[str, Any]:
    """Return the properties of a schedule: its parameters, and counts of rows, units and steps."""
    built = _schedule(schedule_id)
    return {**model.describe_schedule(built), "name": explorer.name_schedule(built)}


def schedule_rows(schedule_id: str, *, expand: bool = False) -> NDArray[Any]:
    """Return the rows of a schedule, int32 ``[columns, rows]``.

    The columns are the fields of `starcast.collectives.rows.Columns`; only reductions have
    ``combine``. With ``expand``, a symmetric schedule has the rows of all sources.
    """
    built = _expanded(schedule_id) if expand else _schedule(schedule_id)
    return explorer.schedule_rows(built)


@lru_cache(maxsize=1)
def list_schedule_rows(
    schedule_id: str, output: Format = Format.JSON, *, expand: bool = False
) -> str:
    """Return the rows of a schedule, with labels of nodes, as JSON or CSV text.

    Raises:
        LimitError: the schedule has more than `MAX_LISTED` rows.
    """
    built = _expanded(schedule_id) if expand else _schedule(schedule_id)
    if len(built) > MAX_LISTED:
        raise LimitError(
            f"{built.id} has {len(built):,} rows; at most {MAX_LISTED:,} are listed",
            hint="omit the parameter `format`: the rows are then returned as binary data",
        )
    labels = built.topology.labels()
    columns = built.columns.present()
    columns["sender"] = labels[built.sender]
    columns["receiver"] = labels[built.receiver]
    return _listing(columns, output)


def draw_schedule(schedule_id: str) -> str:
    """Return a chart of a schedule as an SVG document: the number of units per port and step."""
    return drawing.draw_schedule(_schedule(schedule_id))


@lru_cache(maxsize=1)
def list_steps(schedule_id: str, output: Format = Format.JSON) -> str:
    """Return the number of links used and the largest packet of each step as JSON or CSV text.

    For a symmetric schedule, all sources are counted.
    """
    _check_steps(_schedule(schedule_id))
    result = _simulate(schedule_id, ())
    return _listing(result.list_steps(), output)


def simulate_schedule(schedule_id: str, faults: Sequence[str]) -> dict[str, Any]:
    """Simulate a schedule; return the results and the number of units that each node received.

    A symmetric schedule is expanded only if there are faults. Without faults, its received units
    are those of one source or, in a reduction, of one destination.

    Raises:
        LimitError: there are more than `MAX_FAULTS` faults, or the schedule is too large.
    """
    if len(faults) > MAX_FAULTS:
        raise LimitError(
            f"{len(faults)} faults are given; at most {MAX_FAULTS} are simulated",
            hint="use 'starcast schedule simulate' for more faults",
        )
    # With faults, the sources of a symmetric schedule differ, so all of them are simulated.
    built = _expanded(schedule_id) if faults else _schedule(schedule_id)
    _check_steps(built)
    parsed = tuple(Fault.parse(text) for text in faults)
    result = _simulate(schedule_id, parsed)
    rows = find_executed(built, parsed) if faults else slice(None)
    arrivals = built.receiver[rows].astype(np.int64) * built.units + built.unit[rows]
    # `np.unique` counts a unit once, even if a node receives it twice. `max` avoids a division by 0
    # if the schedule has no units.
    received = np.bincount(
        np.unique(arrivals) // max(built.units, 1), minlength=built.topology.nodes
    )
    return {
        "schedule": _schedule(schedule_id).id,
        "faults": [str(fault.on(built.topology)) for fault in parsed],
        "expanded": bool(faults) and _schedule(schedule_id).symmetric,
        "steps": result.steps,
        "transmissions": result.transmissions,
        "largest_packet": result.largest_packet,
        "complete": result.complete,
        "missing": result.missing,
        "undelivered": [{"node": node, "unit": unit} for node, unit in result.undelivered],
        "violation": result.violation,
        "links_used": result.links_used.tolist(),
        "packet_sizes": result.packet_sizes.tolist(),
        "received": received.tolist(),
        "remarks": list(result.remarks),
    }


def verify_claim(claim_id: str) -> "Verdict":
    """Verify a claim on its smallest topologies (level quick), and return the verdict."""
    from starcast.claims.catalogue import find_claim  # noqa: PLC0415 - few requests need them
    from starcast.claims.verify import verify_claims  # noqa: PLC0415

    # One process is used, because this code already runs in a worker process.
    return verify_claims((find_claim(claim_id),), "quick", None, 1)[0]


def require_drawable(topology: Topology) -> Topology:
    """Return the topology if it is small enough for arrays with a value for each node.

    Raises:
        LimitError: the topology has more than `MAX_NODES` nodes.
    """
    if topology.nodes > MAX_NODES:
        raise LimitError(
            f"{topology.spec} has {topology.nodes:,} nodes; the pages and the HTTP API support "
            f"topologies of at most {MAX_NODES:,} nodes",
            hint="choose a smaller topology, such as S8, or use Python or the command line",
        )
    return topology


def _small(spec: str) -> Topology:
    return require_drawable(parse_topology(spec))


def _listing(columns: Mapping[str, NDArray[Any]], output: Format) -> str:
    """Return columns of equal length as the text of a JSON or CSV file, row by row.

    The text is created in a worker process. In the server's process, creating a long text would
    delay all other requests.
    """
    rows = as_rows(columns)
    if output == Format.CSV:
        return Table(tuple(columns), rows).to_csv()
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=8)
def _built_forest(forest_id: str) -> Forest:
    # The size is checked first, because building a large forest takes a long time.
    _small(forest_id.split(":", maxsplit=1)[0])
    return forest_from_id(forest_id)


def find_forest(forest: str | Forest) -> Forest:
    """Return a forest that is given by its id or as an object.

    Raises:
        InputError: no construction builds a forest with this id.
        LimitError: the forest's topology has more than `MAX_NODES` nodes.
    """
    if isinstance(forest, Forest):
        require_drawable(forest.topology)
        return forest
    return _built_forest(forest)


@lru_cache(maxsize=2)
def _schedule(schedule_id: str) -> Schedule:
    plan = parse_schedule_id(schedule_id)
    require_drawable(plan.topology)
    _check_rows(plan.id, plan.count_rows())
    return plan.build()


@lru_cache(maxsize=1)
def _expanded(schedule_id: str) -> Schedule:
    built = _schedule(schedule_id)
    if built.symmetric:
        _check_rows(f"{built.id} for all sources", len(built) * built.topology.nodes)
    return built.expand()


def _check_rows(noun: str, rows: int) -> None:
    if rows > MAX_ROWS:
        raise LimitError(
            f"{noun} has {rows:,} rows; the pages and the HTTP API support at most {MAX_ROWS:,}",
            hint="use a smaller topology, fewer segments or messages, or the command line",
        )


def _check_steps(schedule: Schedule) -> None:
    if schedule.steps > MAX_LISTED:
        raise LimitError(
            f"{schedule.id} has {schedule.steps:,} steps; at most {MAX_LISTED:,} are listed",
            hint="use fewer segments or messages, or 'starcast schedule simulate'",
        )


@lru_cache(maxsize=4)
def _simulate(schedule_id: str, faults: tuple[Fault, ...]) -> Simulation:
    if faults:
        return simulate(_expanded(schedule_id), faults)
    return simulate(_schedule(schedule_id))


_CACHES = (_built_forest, _schedule, _expanded, _simulate, list_schedule_rows, list_steps)


def forget() -> None:
    """Remove all forests and schedules from the caches, to free memory."""
    for kept in _CACHES:
        kept.cache_clear()
