"""Stored objects read back equal; bulk rows are copied, and deletes cascade."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from starcast.collectives import Schedule, schedule
from starcast.experiments import Point
from starcast.experiments.execution import Execution, execute, price_run
from starcast.judges.simulator import simulate
from starcast.stores.database import artifact_rows, models, repository
from starcast.stores.database.sessions import open_session
from starcast.support.errors import NotFoundError, RejectedError
from starcast.topologies import Topology, topology
from starcast.trees import Forest, forest, plain_constructions
from support.experiments import make_point
from support.meeting import refused

POINT = make_point("S4", "broadcast", "multiple", "all", 2, Fraction(10, 3), 7, Fraction(1, 2))


def count(session: Session, *tables: type[models.Base]) -> list[int]:
    return [len(session.scalars(select(table)).all()) for table in tables]


def store(engine: Engine, *structures: Topology | Forest | Schedule | None) -> None:
    """Store topologies, forests and schedules, each of them verified."""
    with open_session(engine) as session:
        for each in structures:
            if isinstance(each, Topology):
                artifact_rows.save_topology(session, each)
            elif isinstance(each, Forest):
                artifact_rows.save_forest(session, each)
            elif each is not None:
                artifact_rows.save_schedule(session, each, simulate(each))


def store_run(engine: Engine, execution: Execution, steps: bool = True) -> int:
    """Store an experiment 'one' with a run at `POINT`, and return the run's number."""
    with open_session(engine) as session:
        run = price_run(POINT, execution)
        stored = repository.find_experiment(session, "one")
        run.experiment = (stored or repository.save_experiment(session, "one", {})).id
        repository.save_run(session, run, execution.profile if steps else ())
        return run.id


@pytest.mark.parametrize("spec", ["S2", "S5"])
def test_a_topology_reads_back_equal_even_if_saved_twice(engine: Engine, spec: str) -> None:
    network = topology(spec)
    store(engine, network, network)
    with open_session(engine) as session:
        stored = session.scalars(select(models.Topology)).one()
    for name in ("spec", "family", "n", "k", "nodes", "links", "degree", "diameter"):
        assert getattr(stored, name) == getattr(network, name)


@pytest.mark.parametrize("construction", plain_constructions("S4"))
@pytest.mark.parametrize("root", [0, 17])
def test_a_forest_reads_back_equal_and_verifies(
    engine: Engine, construction: str, root: int
) -> None:
    """A forest saved again replaces its trees, whose measures are those of the forest."""
    grown = forest("S4", construction, root)
    store(engine, grown.topology, grown, grown)
    with open_session(engine) as session:
        read = artifact_rows.load_forest(session, grown.id)
        trees = session.scalars(select(models.Tree).order_by(models.Tree.number)).all()
        assert count(session, models.Forest) == [1]
    assert_array_equal(read.parent_port, grown.parent_port)
    for name in ("id", "topology", "root", "construction", "trees", "height", "congestion"):
        assert getattr(read, name) == getattr(grown, name)
    assert (read.spanning, dict(read.arguments)) == (grown.spanning, dict(grown.arguments))
    read.verify()
    measures = zip(range(grown.trees), grown.heights, grown.leaves, grown.sizes, strict=True)
    assert [(tree.number, tree.height, tree.leaves, tree.size) for tree in trees] == [*measures]
    assert {len(tree.parent_port) for tree in trees} == {24}


def test_a_structure_that_its_checker_rejects_is_not_stored(engine: Engine) -> None:
    grown = forest("S4", "multiple")
    array = grown.parent_port.copy()
    array[1, 0] = 2
    planned = schedule("S4", "broadcast", "multiple")
    store(engine, grown.topology, grown)
    for wrong in (
        replace(grown, parent_port=array, construction="greedy"),
        replace(planned, step=np.maximum(planned.step - 1, 1)),
    ):
        with pytest.raises(RejectedError):
            store(engine, wrong)
    with open_session(engine) as session:
        assert count(session, models.Forest, models.Schedule) == [1, 0]


def test_a_schedule_is_stored_with_the_results_of_its_simulation(engine: Engine) -> None:
    built = schedule("S4", "broadcast", "multiple", segments=2)
    simulation = simulate(built)
    assert built.forest is not None
    store(engine, built.topology, built.forest, built, built)
    with open_session(engine) as session:
        stored = session.scalars(select(models.Schedule)).one()
    ids = (stored.id, stored.forest, stored.arguments)
    assert ids == (built.id, built.forest.id, {"segments": 2})
    counts = (stored.steps, stored.transmissions)
    assert counts == (simulation.steps, simulation.transmissions) == (built.steps, 6 * 23)
    assert (stored.largest_packet, stored.units, stored.symmetric) == (2, 6, False)


def test_the_step_profile_is_stored_and_dropped_with_its_schedule(engine: Engine) -> None:
    """Storing the schedule again replaces the step profile."""
    built = schedule("S4", "allgather", "necklace", messages=2)
    simulation = simulate(built)
    store(engine, built.topology, built.forest, built, built)
    with open_session(engine) as session:
        profile = artifact_rows.load_schedule_profile(session, built.id)
        assert [step.step for step in profile] == list(range(1, simulation.steps + 1))
        links_used = [step.links_used for step in profile]
        assert links_used == simulation.links_used.tolist()
        assert links_used == [step.packets for step in profile]
        assert [step.largest_packet for step in profile] == simulation.packet_sizes.tolist()
        assert profile[0].links_used == 24 * 3  # every node sends over all ports
        artifact_rows.drop(session, "schedule", built.id)
        assert count(session, models.ScheduleStep) == [0]


def test_a_schedule_with_a_tree_number_that_does_not_exist_is_refused(engine: Engine) -> None:
    """The schedule is refused even when stored with the simulation of a correct one."""
    built = schedule("S4", "broadcast", "greedy")
    trees = built.tree.copy()
    trees[-1] = 255
    store(engine, built.topology)
    with (
        open_session(engine) as session,
        refused("uses tree 255, but its forest has only 1 tree,", exit_code=6),
    ):
        artifact_rows.save_schedule(session, replace(built, tree=trees), simulate(built))


def test_artifacts_that_others_depend_on_cannot_be_deleted(engine: Engine) -> None:
    built = schedule("S3", "broadcast", "greedy")
    assert built.forest is not None
    store(engine, built.topology, built.forest, built)
    ids = {"schedule": built.id, "forest": built.forest.id, "topology": "S3"}
    for kind in ("topology", "forest"):
        with pytest.raises(IntegrityError), open_session(engine) as session:
            artifact_rows.drop(session, kind, ids[kind])
    with open_session(engine) as session:
        for kind, artifact_id in ids.items():
            artifact_rows.drop(session, kind, artifact_id)
        tables = (models.Topology, models.Forest, models.Tree, models.Schedule)
        assert count(session, *tables) == [0, 0, 0, 0]


def test_unknown_objects_are_not_found(engine: Engine) -> None:
    with open_session(engine) as session:
        for load in (
            lambda: artifact_rows.load_forest(session, "S5:greedy:12345"),
            lambda: repository.load_experiment(session, "none"),
            lambda: repository.load_run(session, 1),
            lambda: repository.experiment_name(session, 1),
        ):
            with pytest.raises(NotFoundError, match=r"^no .* '?(S5:greedy:12345|none|1)"):
                load()


def test_a_run_reads_back_with_exact_costs_and_its_profile(engine: Engine) -> None:
    execution = execute(POINT)
    assert execution.simulation is not None
    number = store_run(engine, execution)
    with open_session(engine) as session:
        read = repository.load_run(session, number)
        profile = repository.load_profile(session, number)
    assert Point.of(read) == POINT
    assert {cost.kind: cost.time for cost in read.costs} == {
        cost.kind: cost.time for cost in price_run(POINT, execution).costs
    }
    assert all(isinstance(cost.time, Fraction) for cost in read.costs)
    assert [step.step for step in profile] == list(range(1, execution.simulation.steps + 1))
    assert [step.links_used for step in profile] == execution.simulation.links_used.tolist()
    assert [step.largest_packet for step in profile] == execution.simulation.packet_sizes.tolist()


def test_postgresql_computes_decimals_of_exact_fractions(engine: Engine) -> None:
    store_run(engine, execute(POINT), steps=False)
    query = (
        "select message_bytes, message_bytes_value, t_s_value, t_c_value, time, time_value"
        " from run join cost on run = id"
    )
    with open_session(engine) as session:
        for m, m_value, start_up, byte, time, time_value in session.execute(text(query)):
            assert (m, m_value, start_up, byte) == ("10/3", pytest.approx(10 / 3), 7.0, 0.5)
            assert time_value == pytest.approx(float(Fraction(time)))


def test_a_message_size_that_is_not_a_fraction_is_refused(engine: Engine) -> None:
    store_run(engine, execute(POINT), steps=False)
    for words in ("1/0", "-1", "0.5", ""):
        with pytest.raises((IntegrityError, DataError)), open_session(engine) as session:
            session.execute(text("update run set message_bytes = :words"), {"words": words})


def test_an_experiment_cannot_have_two_runs_of_the_same_point(engine: Engine) -> None:
    execution = execute(POINT)
    store_run(engine, execution, steps=False)
    with pytest.raises(IntegrityError, match="uq_run_point"):  # even without a base construction
        store_run(engine, execution, steps=False)


def test_dropping_an_experiment_deletes_its_runs_costs_and_profiles(engine: Engine) -> None:
    tables = (models.Experiment, models.Run, models.Cost, models.StepProfile)
    store_run(engine, execute(POINT))
    with open_session(engine) as session:
        assert all(count(session, *tables))
        repository.drop_experiment(session, "one")
        assert count(session, *tables) == [0, 0, 0, 0]
