"""Experiment runs, and the database rows and files that are derived from them."""

from dataclasses import replace

from starcast.experiments.exchange_file import CostRecord, RunRecord
from starcast.experiments.execution import execute, price_run
from starcast.stores.database import models
from starcast.support.runs import COST_FIELDS, RUN_FIELDS
from support.experiments import make_point
from support.workers import run_program


def test_database_tables_and_run_files_have_the_fields_of_runs_and_costs() -> None:
    run, cost = (
        {column.name for column in table.columns if column.computed is None}
        for table in (models.Base.metadata.tables[name] for name in ("run", "cost"))
    )
    assert run == {*RUN_FIELDS, "id", "experiment"}
    assert cost == {*COST_FIELDS, "run"}
    assert RunRecord.model_fields.keys() == {*RUN_FIELDS, "costs", "profile"}
    assert CostRecord.model_fields.keys() == {*COST_FIELDS}


def test_the_modules_that_execute_runs_do_not_import_sqlalchemy() -> None:
    program = (
        "import sys; import starcast.experiments.execution; import starcast.experiments.sharding;"
        "print('sqlalchemy' in sys.modules)"
    )
    assert run_program(program).stdout == "False\n"


def test_an_experiment_run_written_to_a_file_is_read_back_unchanged() -> None:
    point = make_point("S4", "broadcast", "multiple", faults=("2134@2",), message_bytes=7)
    execution = execute(point)
    run = price_run(point, execution)
    written = RunRecord.of(run, execution.profile).model_dump_json()
    read = RunRecord.model_validate_json(written).run
    assert vars(read) == vars(run)
    assert read != run
    assert replace(read, id=1).id == 1
