"""Resources for experiments, runs, and comparisons with the data of their curves."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from sqlalchemy import func, select

from starcast.comparison.compare import Comparison
from starcast.comparison.curves import load_profiles
from starcast.comparison.presentation import Profiles, describe, describe_panels
from starcast.comparison.sides import ALLOWED_ACROSS, load_side
from starcast.lab import ComparisonTable, Lab
from starcast.stores.database.models import Experiment, Run
from starcast.stores.database.sessions import open_session
from starcast.support.errors import LimitError
from starcast.support.table import Row, Table
from starcast.support.text import format_value
from starcast.support.vocabulary import Format, PairedBy
from starcast.web import models
from starcast.web.api.responses import (
    FormatParameter,
    Page,
    PagingParameter,
    as_json_rows,
    resource_url,
    text_response,
    with_formats,
)
from starcast.web.service import Service, ServiceParameter

router = APIRouter(tags=["experiments"])
# The length is not limited, because earlier versions stored names of any length.
ExperimentParameter = Annotated[str, Path(examples=["e1"])]
NamesParameter = Annotated[
    list[str],
    Query(alias="name", max_length=20, description="names of experiments, or numbers of runs"),
]
AcrossParameter = Annotated[
    list[str], Query(description=f"axes in which runs may differ: {', '.join(ALLOWED_ACROSS)}")
]
ConditionsParameter = Annotated[
    list[str],
    Query(alias="condition", description="condition on the compared runs, such as topology=S5"),
]
#: Maximum number of runs that are read for a response. Reading a run takes about 0.4 ms.
MAX_RUNS = 10_000
_HIDDEN = ("experiment", "runs", "points", "failed", "created")


@router.get("/experiments", responses=with_formats(Format.CSV))
def list_experiments(
    service: ServiceParameter,
    paging: PagingParameter,
) -> Page[models.ExperimentResource]:
    """List the stored experiments, sorted by name."""
    with service.lab() as lab:
        rows = as_json_rows(lab.experiments().rows)
    rows.sort(key=lambda row: str(row["experiment"]))
    return paging.respond(models.ExperimentResource, [_experiment(row) for row in rows])


@router.get("/experiments/{name}", responses=with_formats(Format.CSV))
def show_experiment(
    name: ExperimentParameter, service: ServiceParameter, paging: PagingParameter
) -> models.ExperimentDetail:
    """Show the runs of an experiment in the order of its grid."""
    with service.lab() as lab:
        _check_size(lab, [name])
        table = lab.show_experiment(name)
    page = paging.page(table.rows, "run")
    if paging.output == Format.CSV:
        return text_response(Table(table.columns, page.items).to_csv(), Format.CSV)  # type: ignore[return-value]
    runs = [models.RunResource(**row) for row in as_json_rows(page.items)]
    return models.ExperimentDetail(experiment=name, note=table.note, runs=runs, next=page.next)


@router.get("/experiments/{name}/curves")
def get_curves(name: ExperimentParameter, service: ServiceParameter) -> models.Curves:
    """Return the curves of an experiment (time against message size) and their crossovers."""
    return models.Curves(panels=describe_experiment(service, name))  # type: ignore[arg-type]


def describe_experiment(service: Service, name: str) -> list[dict[str, Any]]:
    """Return the panels (plots) of an experiment, with the fields of `models.PanelData`."""
    with service.lab() as lab, open_session(lab.engine) as session:
        _check_size(lab, [name])
        alone = Comparison((load_side(session, name),), ())
        return describe_panels(alone, load_profiles(session, alone))


@router.get("/compare", responses=with_formats(Format.CSV))
def compare(
    service: ServiceParameter,
    names: NamesParameter,
    across: AcrossParameter = [],  # noqa: B006 - FastAPI copies it
    conditions: ConditionsParameter = [],  # noqa: B006
    baseline: Annotated[
        str | None, Query(description="experiment, part or run with which the others are compared")
    ] = None,
    by: Annotated[
        PairedBy,
        Query(description="pair runs with equal message_units, or with equal segments"),
    ] = "message_units",
    output: FormatParameter = Format.JSON,
) -> models.ComparisonResource:
    """Compare experiments or runs. A single experiment is split by algorithm, base and copies.

    The comparison page and ``starcast compare --format html`` show the same data.
    """
    table, profiles = build_comparison(service, names, across, conditions, baseline, by)
    if output == Format.CSV:
        return text_response(table.to_csv(), Format.CSV)  # type: ignore[return-value]
    return models.ComparisonResource(**describe(table.comparison, profiles))


def build_comparison(
    service: Service,
    names: Sequence[str],
    across: Sequence[str] = (),
    conditions: Sequence[str] = (),
    baseline: str | None = None,
    by: PairedBy = "message_units",
) -> tuple[ComparisonTable, Profiles]:
    """Compare experiments or runs; also return the links used in each step by the plotted runs.

    Raises:
        LimitError: the experiments have more than `MAX_RUNS` runs in total.
    """
    with service.lab() as lab:
        _check_size(lab, names)
        table = lab.compare(*names, across=across, conditions=conditions, baseline=baseline, by=by)
        return table, table.profiles()


def _check_size(lab: Lab, names: Sequence[str]) -> None:
    """Check that experiments are small enough to be read for a response.

    Raises:
        LimitError: the experiments have more than `MAX_RUNS` runs in total.
    """
    # PostgreSQL counts the runs, because loading all runs only to count them takes too long.
    count = (
        select(func.count())
        .select_from(Run)
        .join(Experiment, Run.experiment == Experiment.id)
        .where(Experiment.name.in_(names))
    )
    with open_session(lab.engine) as session:
        runs = session.scalar(count) or 0
    if runs > MAX_RUNS:
        quoted = " and ".join(f"'{name}'" for name in names)
        raise LimitError(
            f"the {runs:,} runs of {quoted} exceed the limit of {MAX_RUNS:,}",
            hint="use 'starcast experiment show', 'starcast compare', or SQL",
        )


def _experiment(row: Row) -> Row:
    """Return the fields of `models.ExperimentResource` for a row of the experiment listing."""
    axes = {axis: format_value(value) for axis, value in row.items() if axis not in _HIDDEN}
    return {
        **{key: row[key] for key in _HIDDEN},
        "axes": {axis: text for axis, text in axes.items() if text},
        "url": resource_url("experiments", str(row["experiment"])),
    }
