"""The PostgreSQL views, for people and reporting tools that read the store with SQL.

Every upgrade recreates them from this declaration. They show the same values as the listings of the
command line, and tests compare the two.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from starcast.support.axes import AXES, CHOICE, QUESTION


@dataclass(frozen=True)
class View:
    """A declared PostgreSQL view.

    Attributes:
        name: the name of the view.
        meaning: the comment on the view.
        columns: the comment of each column, in order.
        query: the statement that selects these columns.
    """

    name: str
    meaning: str
    columns: dict[str, str]
    query: str


def _meanings(axes: Iterable[str], prefix: str = "") -> dict[str, str]:
    return {f"{prefix}{name}": AXES[name].meaning for name in axes}


def _select(table: str, axes: Iterable[str], prefix: str = "") -> str:
    """Return the SQL select list for axis columns, with `Exact` columns as doubles."""
    is_exact = {name: AXES[name].type is Fraction for name in axes}
    return ", ".join(
        f"{table}.{name}{'_value' * exact} as {prefix}{name}" for name, exact in is_exact.items()
    )


def _equal(axis: str) -> str:
    """Return the SQL condition that runs a and b have the same value on an axis."""
    operator = "is not distinct from" if AXES[axis].type == str | None else "="
    return f"b.{axis} {operator} a.{axis}"


RUN_SUMMARY = View(
    "run_summary",
    "One row per run: parameters, simulated values, closed form and lower bound. The tables run and"
    " cost have the exact values; the values of this view are doubles.",
    {
        "run": "number of the run",
        "experiment": "name of its experiment",
        **_meanings(AXES),
        "status": "complete or failed",
        "error": "why it failed",
        "steps": "last step in which a unit moves",
        "transmissions": "times that a unit crosses a link",
        "time": "simulated time",
        "closed_form": "time by the closed form of the paper",
        "bound": "lower bound of the time",
        "gap": "time / bound; null if units are missing, since the bound holds for full delivery",
        "missing": "(node, unit) pairs that the faults left undelivered; null if the run failed",
        "version": "version of starcast that executed it",
        "revision": "git revision of starcast",
        "finished_at": "when it was stored",
    },
    f"""
    select run.id as run, experiment.name as experiment, {_select("run", AXES)},
        run.status, run.error, simulated.steps, simulated.transmissions,
        simulated.time_value as time, closed.time_value as closed_form,
        lower.time_value as bound,
        case when run.missing = 0 then simulated.time_value / nullif(lower.time_value, 0) end
            as gap,
        case when run.status = 'complete' then run.missing end as missing,
        run.provenance ->> 'version' as version, run.provenance ->> 'revision' as revision,
        run.finished_at
    from run
    join experiment on experiment.id = run.experiment
    left join cost as simulated on simulated.run = run.id and simulated.kind = 'simulated'
    left join cost as closed on closed.run = run.id and closed.kind = 'closed form'
    left join cost as lower on lower.run = run.id and lower.kind = 'lower bound'
    """,  # noqa: S608 - of names declared in the code
)

COMPARISON = View(
    "comparison",
    f"One row per ordered pair of comparable runs: the same {', '.join(QUESTION[:-1])} and"
    f" {QUESTION[-1]}, both complete and with no missing units."
    " Filter the rows by baseline_experiment and experiment. Of these pairs, 'starcast compare'"
    " shows those with equal values in every other parameter for which both experiments have some"
    " value in common.",
    {
        **_meanings(QUESTION),
        "baseline_run": "number of the baseline run",
        "baseline_experiment": "name of its experiment",
        **_meanings(CHOICE, "baseline_"),
        "baseline_steps": "its steps",
        "baseline_time": "its simulated time",
        "run": "number of the run compared with the baseline",
        "experiment": "name of its experiment",
        **_meanings(CHOICE),
        "steps": "its steps",
        "time": "its simulated time",
        "change": "time - baseline_time",
        "change_percent": "change in per cent of baseline_time",
        "verdict": "better, worse or same: whether the run takes less time than the baseline",
    },
    f"""
    select {_select("a", QUESTION)},
        a.id as baseline_run, ea.name as baseline_experiment, {_select("a", CHOICE, "baseline_")},
        ca.steps as baseline_steps, ca.time_value as baseline_time,
        b.id as run, eb.name as experiment, {_select("b", CHOICE)}, cb.steps,
        cb.time_value as time, cb.time_value - ca.time_value as change,
        100 * (cb.time_value - ca.time_value) / nullif(ca.time_value, 0) as change_percent,
        case when ca.time = cb.time then 'same'
            when cb.time_value < ca.time_value then 'better' else 'worse' end as verdict
    from run as a
    join run as b on {" and ".join(map(_equal, QUESTION))} and b.id <> a.id
    join cost as ca on ca.run = a.id and ca.kind = 'simulated'
    join cost as cb on cb.run = b.id and cb.kind = 'simulated'
    join experiment as ea on ea.id = a.experiment
    join experiment as eb on eb.id = b.experiment
    where a.status = 'complete' and b.status = 'complete' and a.missing = 0 and b.missing = 0
    """,  # noqa: S608
)

CLAIM_SUMMARY = View(
    "claim_summary",
    "One row per claim: its newest stored verdict and the verification run that gave it.",
    {
        "claim": "id of the claim: TS.L5",
        "verdict": "holds, holds as a bound, fails or not checkable",
        "sizes": "sizes that were checked",
        "counterexample": "where the claim fails; null unless it fails",
        "subject": "id of the forest or schedule of the counterexample, or empty",
        "detail": "description of the findings",
        "seconds": "time of its checks",
        "claim_run": "number of the verification run",
        "level": "quick, full or deep; null if sizes were given instead",
        "version": "version of starcast",
        "revision": "git revision of starcast",
        "finished_at": "when the verification run finished",
    },
    """
    select verdict.claim, verdict.verdict, verdict.sizes, verdict.counterexample,
        verdict.subject, verdict.detail,
        (select sum(evidence.seconds) from claim_evidence as evidence
            where evidence.claim_run = verdict.claim_run and evidence.claim = verdict.claim)
            as seconds,
        verdict.claim_run, claim_run.level, claim_run.version, claim_run.revision,
        claim_run.finished_at
    from claim_verdict as verdict
    join claim_run on claim_run.id = verdict.claim_run
    where verdict.claim_run = (select max(newest.claim_run) from claim_verdict as newest
        where newest.claim = verdict.claim)
    """,
)

ARTIFACT = View(
    "artifact",
    "One row per known artifact, complete or not: a topology, forest or schedule with its state in"
    " the graph and its measured values. A value that its kind does not have is null.",
    {
        "kind": "topology, forest or schedule",
        "id": "id of the artifact",
        "topology": "spec of its topology",
        "state": "planned, loading, complete (verified and usable) or failed",
        "method": "load method: bolt or import",
        "error": "why it is not complete",
        "family": "family of a topology",
        "nodes": "nodes of a topology",
        "links": "undirected links of a topology",
        "degree": "links at each node of a topology",
        "diameter": "largest distance in a topology",
        "construction": "construction of a forest",
        "root_label": "label of the root of a forest",
        "trees": "trees of a forest",
        "height": "largest level in a forest",
        "congestion": "largest number of trees of a forest that use the same directed link",
        "forest": "id of the forest of a schedule",
        "collective": "collective of a schedule",
        "algorithm": "algorithm of a schedule",
        "ports": "port model of a schedule",
        "arguments": "arguments of the construction or algorithm",
        "steps": "steps of a schedule",
        "transmissions": "times that a unit of a schedule crosses a link",
        "largest_packet": "maximum number of units on a directed link in a step of a schedule",
        "graph_nodes": "nodes that it has in the graph",
        "graph_relationships": "relationships that it has in the graph",
        "started_at": "when loading was planned",
        "finished_at": "when it became complete or failed",
    },
    """
    select state.kind, state.id, split_part(state.id, ':', 1) as topology, state.state,
        state.method, state.error, topology.family, topology.nodes, topology.links,
        topology.degree, topology.diameter, forest.construction, forest.root_label, forest.trees,
        forest.height, forest.congestion, schedule.forest, schedule.collective,
        schedule.algorithm, schedule.ports, coalesce(forest.arguments, schedule.arguments)
            as arguments,
        schedule.steps, schedule.transmissions, schedule.largest_packet,
        state.expected_nodes as graph_nodes, state.expected_relationships as graph_relationships,
        state.started_at, state.finished_at
    from materialization as state
    left join topology on state.kind = 'topology' and topology.spec = state.id
    left join forest on state.kind = 'forest' and forest.id = state.id
    left join schedule on state.kind = 'schedule' and schedule.id = state.id
    """,
)

VIEWS = (RUN_SUMMARY, COMPARISON, CLAIM_SUMMARY, ARTIFACT)
