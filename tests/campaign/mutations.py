"""Mutated structures: a changed forest or schedule is rejected, or is still correct."""

from collections.abc import Sequence
from random import Random

import numpy as np

from oracles.simulator import execute_all
from starcast.collectives import schedule
from starcast.collectives.model import COLUMNS, Schedule
from starcast.judges.simulator import simulate
from starcast.support.errors import InputError, RejectedError
from starcast.topologies import Topology
from starcast.trees import Forest, forest, plain_constructions
from support.simulator_cases import bases, changed, kept, plan_of

_SPECS = ("S3", "S4", "S4,2", "Q3")
_BASES = bases(*_SPECS)


def mutate_forest(draw: Random) -> tuple[str, str, list[str]]:
    """Change entries of a forest; `Forest.verify` must agree with a node-by-node check.

    Returns:
        Description, result and problems.
    """
    spec = draw.choice((*_SPECS, "S5"))
    name = draw.choice(plain_constructions(spec))
    built = forest(spec, name)
    ports = built.parent_port.copy()
    changes = []
    for _ in range(draw.randint(1, 3)):
        tree = draw.randrange(built.trees)
        node = draw.randrange(built.topology.nodes)
        port = draw.choice((*built.topology.ports, 0, max(built.topology.ports) + 1, 255))
        ports[tree, node] = port
        changes.append(f"[{tree}, {node}] = {port}")
    hubs = built.verify_hubs if draw.random() < 0.5 else None
    mutated = Forest(
        built.topology, ports, built.root, built.construction, {}, built.spanning, hubs
    )
    try:
        mutated.verify()
        is_accepted = True
    except RejectedError:
        is_accepted = False
    is_forest = all(
        _is_tree(built.topology, row, built.root, spanning=built.spanning) for row in ports.tolist()
    )
    problems = []
    if is_accepted != is_forest:
        problems.append(f"verify() {'accepts' if is_accepted else 'rejects'} it wrongly")
    same = np.array_equal(ports, built.parent_port)
    result = "unchanged" if same else "another forest" if is_accepted else "rejected"
    return f"{spec} {name}: {', '.join(changes)}", result, problems


def _is_tree(topology: Topology, row: Sequence[int], root: int, *, spanning: bool) -> bool:
    """Return whether the parents lead from each node of the tree to the root."""
    if row[root] or any(port and port not in topology.ports for port in row):
        return False
    parents = {
        node: int(topology.neighbours(port, [node])[0]) for node, port in enumerate(row) if port
    }
    if spanning and len(parents) != topology.nodes - 1:
        return False
    for start in parents:
        node = start
        for _ in range(topology.nodes):
            node = parents.get(node, node)
        if node != root:
            return False
    return True


def mutate_schedule(draw: Random) -> tuple[str, str, list[str]]:
    """Change rows of a schedule; the simulator must agree with a simple step-by-step simulator.

    Returns:
        Description, result and problems.
    """
    base = draw.choice(_BASES)
    built = schedule(base[0], base[1], base[2], base[3])
    if not len(built):
        return " ".join(base), "no rows", []
    mutated = built
    changes = []
    for _ in range(draw.randint(1, 2)):
        mutated, change = _change_row(draw, mutated)
        changes.append(change)
    description = f"{' '.join(base)}: {', '.join(changes)}"
    try:
        run = simulate(mutated)
    except InputError as error:
        return description, "refused", [] if error.hint else [f"no hint: {error.message}"]
    trees = mutated.forest.trees if mutated.forest else 256
    outcome = execute_all(plan_of(mutated), {})
    is_wrong = bool(outcome.broken) or ((mutated.tree < 0) | (mutated.tree >= trees)).any()
    problems = []
    if (run.violation is not None) != is_wrong:
        problems.append(f"simulate() reports {run.violation}, the oracle: {outcome.broken}")
    if run.complete != (not is_wrong and not outcome.missing):
        problems.append(f"simulate() says complete = {run.complete}")
    result = "equivalent" if run.complete else "violation" if run.violation else "incomplete"
    return description, result, problems


def _change_row(draw: Random, plan: Schedule) -> tuple[Schedule, str]:
    """Return the schedule with one row changed, dropped or doubled."""
    rows = range(len(plan))
    row = draw.randrange(len(plan)) if len(plan) else 0
    match draw.choice((*COLUMNS, "drop", "double")) if len(plan) else "none":
        case "none":
            return plan, "nothing"
        case "drop":
            return kept(plan, [other for other in rows if other != row]), f"row {row} dropped"
        case "double":
            return kept(plan, [*rows, row]), f"row {row} doubled"
        case column:
            nodes = plan.topology.nodes
            largest = {
                "step": plan.steps + 2,
                "sender": nodes,
                "receiver": nodes,
                "port": plan.topology.degree + 3,
                "tree": 256,
                "unit": plan.units,
            }[column]
            value = draw.randint(-1, largest)
            if column == "port":
                value = abs(value)
            return changed(plan, row, **{column: value}), f"{column}[{row}] = {value}"
