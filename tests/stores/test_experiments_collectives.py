"""Runs of all collectives, of the experiments that come with starcast, and under faults."""

import pytest
from sqlalchemy import Engine

from starcast import costs
from starcast.collectives import algorithms, schedule
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.model import COLLECTIVES
from starcast.experiments import Point
from starcast.experiments.design import examples, group_by_structure, read_design
from starcast.experiments.execution import execute, price_run
from starcast.experiments.running import run_experiment, run_once
from starcast.judges.simulator import Fault, simulate
from starcast.stores.database import repository
from starcast.stores.database.sessions import open_session
from starcast.support.progress import Silent
from starcast.support.vocabulary import Collective
from starcast.topologies import topology
from support.experiments import FAULTY, make_point, runs, time


def smallest(rule: Algorithm) -> Point:
    """Return an experiment point of an algorithm on a small topology of at least 12 nodes."""
    family = rule.families[0] if rule.families else "star"
    network = topology({"star": "S4", "nk-star": "S4,2", "hypercube": "Q4"}[family])
    share = network.degree if "perfectly" in rule.name else 1
    return make_point(
        network.spec,
        rule.collective,
        rule.name,
        rule.ports[0],
        share,
        6,
        5,
        base="multiple" if "base" in rule.required_arguments else None,
    )


@pytest.mark.whole
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_algorithm_can_be_run_and_its_cost_stored(
    engine: Engine, collective: Collective
) -> None:
    """Stored costs equal those of the Python functions, and no time is below its lower bound."""
    for rule in algorithms(collective):
        point = smallest(rule)
        run = run_once(engine, point)
        network, machine = topology(point.topology), costs.Machine(point.t_s, point.t_c)
        built = schedule(network, rule.collective, rule.name, ports=point.ports, **point.arguments)
        simulation = simulate(built)
        unit = point.message_bytes / built.message_units
        if (rule.collective, rule.name) in costs.FORMS:
            unit = costs.unit_bytes(
                network, rule.collective, rule.name, point.message_bytes, **point.arguments
            )
        assert (run.status, run.missing, run.base) == ("complete", 0, point.arguments.get("base"))
        assert time(run, "simulated") == costs.price_simulation(simulation, unit, machine).time
        assert time(run, "lower bound") <= time(run, "simulated")
        if (rule.collective, rule.name) in costs.FORMS:
            form = costs.closed_form(
                network, rule.collective, rule.name, point.ports, point.message_bytes, machine,
                **point.arguments,
            )  # fmt: skip
            assert time(run, "closed form") == form.time
        with open_session(engine) as session:
            profile = repository.load_profile(session, run.id)
        assert [step.links_used for step in profile] == simulation.links_used.tolist()


@pytest.mark.slow
def test_every_example_experiment_runs_on_its_smallest_topology() -> None:
    """There are no violations, and runs without faults are complete."""
    for name in examples():
        points = read_design(name).points()
        least = min(topology(point.topology).nodes for point in points)
        small = [point for point in points if topology(point.topology).nodes == least]
        for together in group_by_structure(small)[::7]:
            run = price_run(together[0], execute(together[0]))
            assert (run.status, run.error) == ("complete", None), together[0]
            assert run.faults or time(run, "lower bound") <= time(run, "simulated")


def test_units_lost_to_faults_do_not_make_a_run_fail(engine: Engine) -> None:
    """With x copies, every unit survives x-1 faults. Randomly drawn faults are stored."""
    outcome = run_experiment(engine, "faulty", FAULTY, Silent())
    assert outcome.failed == 0
    stored = runs(engine, "faulty")
    assert [Point.of(run) for run in stored] == FAULTY.points()
    for run in stored:
        built = schedule("S4", run.collective, run.algorithm, copies=run.copies)
        assert run.missing == simulate(built, [Fault.parse(fault) for fault in run.faults]).missing
        assert run.missing == 0 or len(run.faults) >= run.copies
        assert run.status == "complete"
    assert any(run.missing for run in stored)
    assert {run.seed for run in stored if run.faults and run.faults[0] == "2134"} >= {0}
