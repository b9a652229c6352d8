"""Witnesses of records. The explorer shows them as forests, schedules, or faults."""

from pathlib import Path

import numpy as np

from starcast.records import Record, known_folders, verify
from starcast.records.files import missing_reason
from starcast.records.listing import load_files
from starcast.support.errors import NotFoundError, StarcastError
from starcast.support.spec_syntax import format_spec, parse_spec
from starcast.topologies import topology
from starcast.trees import Forest
from starcast.web.computations import require_drawable
from starcast.web.responses import explorer_url

#: The construction name in the ids of witness forests.
CONSTRUCTION = "record"
#: For some problems, the algorithm whose schedule executes the witness that comes with starcast.
_SCHEDULES = {
    "one-port-broadcast": "broadcast:optimal",
    "hamiltonian-decomposition": "allgather:hamiltonian-decomposition",
}


def find_known_record(home: Path, record_id: str) -> Record:
    """Return the best known record with an id such as ``congestion-trees:S4:congestion=2``.

    Args:
        home: the user's home directory of starcast, which may contain better records.
        record_id: the id; it is compared with known records, and never used as a path.

    Raises:
        NotFoundError: no such record is known.
        InputError: the file of a record is damaged.
    """
    for record in load_files(known_folders(home)):
        if record.id == record_id:
            return record
    raise NotFoundError(f"no record has the id '{record_id}'", hint="see 'starcast records list'")


def build_witness_forest(home: Path, forest_id: str) -> Forest:
    """Verify a record and return the trees of its witness.

    Args:
        home: the user's home directory of starcast, which may contain better records.
        forest_id: ``S4:record(problem=congestion-trees,congestion=2)``, with or without the root.

    Raises:
        NotFoundError: no such record is known, or its witness is not a forest.
        InputError: the id or the file of a record is malformed.
        RejectedError: the record is wrong.
    """
    spec, text, *root = forest_id.split(":")
    graph = topology(spec)
    if root and graph.rank(root[0]) != 0:
        raise NotFoundError(
            f"the trees of a record have the root {graph.stored_label(0)}, not {root[0]}",
            hint=f"request {spec}:{text}, without a root",
        )
    arguments = dict(parse_spec(text)[1])
    problem = str(arguments.pop("problem", ""))
    values = [f"{name}={value}" for name, value in sorted(arguments.items())]
    record = find_known_record(home, ":".join([problem, graph.spec, *values]))
    if "parent_port" not in record.witness:
        raise NotFoundError(
            f"the witness of {record.id} is not a forest", hint="see 'starcast records show'"
        )
    # The file of a record may come from anywhere, so its trees are verified before they are shown.
    verify(record)
    rows = np.atleast_2d(record.witness["parent_port"])
    return Forest(graph, rows, 0, CONSTRUCTION, {"problem": problem, **record.arguments})


def locate_witness(record: Record) -> str | None:
    """Return the URL at which the explorer shows a record's witness, or None if there is none."""
    try:
        graph = require_drawable(topology(record.topology))
    except StarcastError:  # the topology is too large, or its plug-in is not loaded
        return None
    state: dict[str, str] = {}
    scheduled = _SCHEDULES.get(record.problem)
    needs_proof = record.problem == "one-port-broadcast"
    if scheduled and missing_reason(record.problem, graph.spec, optimal=needs_proof) is None:
        state["schedule"] = scheduled
    elif "parent_port" in record.witness:
        values: dict[str, str | int] = {"problem": record.problem, **record.arguments}
        state["forest"] = format_spec(CONSTRUCTION, values)
    elif "faults" in record.witness:
        state["faults"] = ",".join(graph.label(int(node)) for node in record.witness["faults"])
        state["node"] = graph.label(int(record.witness["pair"][0]))
    else:
        return None
    return explorer_url(graph.spec, state)
