"""The repository: objects are read back unchanged and deleted, and invalid ones are refused."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from starcast.collectives import Schedule, schedule
from starcast.experiments.execution import execute, price_run
from starcast.experiments.point import Point
from starcast.judges.simulator import simulate
from starcast.stores.database import models, repository
from starcast.stores.database.sessions import open_session
from starcast.support.errors import NotFoundError, RejectedError
from starcast.topologies import Topology
from starcast.trees import Forest, forest
from support.experiments import make_point
from support.meeting import refused

POINT = make_point("S4", "broadcast", "multiple", "all", 2, Fraction(10, 3), 7, Fraction(1, 2))


def count(session: Session, *tables: type[models.Base]) -> list[int]:
    return [len(session.scalars(select(table)).all()) for table in tables]


def store(engine: Engine, *structures: Topology | Forest | Schedule | None) -> None:
    """Verify and store topologies, forests and schedules."""
    with open_session(engine) as session:
        for each in structures:
            if isinstance(each, Topology):
                repository.save_topology(session, each)
            elif isinstance(each, Forest):
                repository.save_forest(session, each)
            elif each is not None:
                repository.save_schedule(session, each, simulate(each))


def store_run(engine: Engine) -> int:
    """Store an experiment 'one' with a run at `POINT`, and return the run's number."""
    execution = execute(POINT)
    with open_session(engine) as session:
        run = price_run(POINT, execution)
        stored = repository.find_experiment(session, "one")
        experiment = (stored or repository.save_experiment(session, "one", {})).id
        return repository.save_run(session, experiment, run, execution.profile).id or 0


def test_saving_artifacts_twice_creates_no_duplicate_rows(engine: Engine) -> None:
    """The rows also contain the metrics. The ingest tests check the other values."""
    built = schedule("S4", "broadcast", "multiple", "all", 17, segments=2)
    grown = built.forest
    assert grown is not None
    store(engine, *(grown.topology, grown, built) * 2)
    with open_session(engine) as session:
        [network] = session.scalars(select(models.Topology))
        [forest_row] = session.scalars(select(models.Forest))
        [row] = session.scalars(select(models.Schedule))
        trees = session.scalars(select(models.Tree)).all()
    assert {len(tree.parent_port) for tree in trees} == {24}
    assert len(trees) == grown.trees
    for name in ("spec", "family", "n", "k", "nodes", "links", "degree", "diameter"):
        assert getattr(network, name) == getattr(grown.topology, name)
    assert (forest_row.height, forest_row.congestion) == (grown.height, grown.congestion)
    assert (row.arguments, row.largest_packet, row.units) == ({"segments": 2}, 2, 6)
    assert (row.forest, row.symmetric) == (grown.id, False)


def test_an_invalid_forest_or_schedule_is_not_stored(engine: Engine) -> None:
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


def test_the_step_profile_is_stored_and_dropped_with_its_schedule(engine: Engine) -> None:
    """Storing the schedule again replaces the step profile; `assert_stored` checks its values."""
    built = schedule("S4", "allgather", "necklace", messages=2)
    store(engine, built.topology, built.forest, built, built)
    with open_session(engine) as session:
        profile = repository.load_schedule_profile(session, built.id)
        assert [step.step for step in profile] == list(range(1, built.steps + 1))
        assert profile[0].links_used == 24 * 3  # every node sends over all ports
        repository.drop_artifact(session, "schedule", built.id)
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
        repository.save_schedule(session, replace(built, tree=trees), simulate(built))


def test_artifacts_that_others_depend_on_cannot_be_deleted(engine: Engine) -> None:
    built = schedule("S3", "broadcast", "greedy")
    assert built.forest is not None
    store(engine, built.topology, built.forest, built)
    ids = {"schedule": built.id, "forest": built.forest.id, "topology": "S3"}
    for kind in ("topology", "forest"):
        with pytest.raises(IntegrityError), open_session(engine) as session:
            repository.drop_artifact(session, kind, ids[kind])
    with open_session(engine) as session:
        for kind, artifact_id in ids.items():
            repository.drop_artifact(session, kind, artifact_id)
        tables = (models.Topology, models.Forest, models.Tree, models.Schedule)
        assert count(session, *tables) == [0, 0, 0, 0]


def test_loading_an_unknown_forest_experiment_or_run_raises_not_found_error(engine: Engine) -> None:
    with open_session(engine) as session:
        for load in (
            lambda: repository.load_forest(session, "S5:greedy:12345"),
            lambda: repository.load_experiment(session, "none"),
            lambda: repository.load_run(session, 1),
        ):
            with pytest.raises(NotFoundError, match=r"^no .* '?(S5:greedy:12345|none|1)"):
                load()


def test_a_run_reads_back_with_exact_costs_and_its_profile(engine: Engine) -> None:
    execution = execute(POINT)
    assert execution.simulation is not None
    number = store_run(engine)
    with open_session(engine) as session:
        read = repository.load_run(session, number)
        profile = repository.load_profile(session, number)
    assert Point.of(read) == POINT
    assert set(read.costs) == set(price_run(POINT, execution).costs)
    assert all(isinstance(cost.time, Fraction) for cost in read.costs)
    assert [step.step for step in profile] == list(range(1, execution.simulation.steps + 1))
    assert [step.links_used for step in profile] == execution.simulation.links_used.tolist()
    assert [step.largest_packet for step in profile] == execution.simulation.packet_sizes.tolist()


def test_postgresql_converts_exact_fractions_to_decimal_numbers(engine: Engine) -> None:
    store_run(engine)
    query = (
        "select message_bytes, message_bytes_value, t_s_value, t_c_value, time, time_value"
        " from run join cost on run = id"
    )
    with open_session(engine) as session:
        for m, m_value, start_up, byte, time, time_value in session.execute(text(query)):
            assert (m, m_value, start_up, byte) == ("10/3", pytest.approx(10 / 3), 7.0, 0.5)
            assert time_value == pytest.approx(float(Fraction(time)))


def test_postgresql_refuses_an_invalid_message_size(engine: Engine) -> None:
    store_run(engine)
    for words in ("1/0", "-1", "0.5", ""):
        with pytest.raises((IntegrityError, DataError)), open_session(engine) as session:
            session.execute(text("update run set message_bytes = :words"), {"words": words})


def test_an_experiment_cannot_have_two_runs_with_the_same_parameters(engine: Engine) -> None:
    store_run(engine)
    with pytest.raises(IntegrityError, match="uq_run_point"):  # null bases count as equal
        store_run(engine)


def test_dropping_an_experiment_deletes_its_runs_costs_and_profiles(engine: Engine) -> None:
    tables = (models.Experiment, models.Run, models.Cost, models.StepProfile)
    store_run(engine)
    with open_session(engine) as session:
        assert all(count(session, *tables))
        repository.drop_experiment(session, "one")
        assert count(session, *tables) == [0, 0, 0, 0]
