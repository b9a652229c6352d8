"""The PostgreSQL views, for users and reporting tools that read the store with SQL.

Every upgrade recreates the views from the declarations in this module. They show the same values as
the listings of the command line, which a test verifies.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from starcast.support.axes import AXES


@dataclass(frozen=True)
class View:
    """A declared PostgreSQL view.

    Attributes:
        name: the name of the view.
        meaning: the comment on the view.
        query: the statement that selects the columns. An SQL comment describes each column.
    """

    name: str
    meaning: str
    query: str

    @property
    def columns(self) -> dict[str, str]:
        """The comments of the columns, keyed by column name, in the order of the columns."""
        return dict(re.findall(r"(\w+),?\s+-- (.+)", self.query))


def _axes(table: str, axes: Iterable[str]) -> str:
    """Return the SQL select list for parameters of runs, with doubles in place of exact values."""
    items = []
    for name in axes:
        suffix = "_value" if AXES[name].type is Fraction else ""
        column = f"{table}.{name}{suffix} as {name}"
        items.append(f"{column}, -- {AXES[name].meaning}")
    return "\n".join(items)


RUN_SUMMARY = View(
    "run_summary",
    "One row per run: parameters, simulated values, closed form and lower bound. Sizes and times"
    " are doubles; the tables run and cost have the exact values.",
    f"""
    select
        run.id as run, -- number of the run
        experiment.name as experiment, -- name of the experiment
        {_axes("run", AXES)}
        run.status, -- complete or failed
        run.error, -- why the run failed
        simulated.steps, -- last step in which a unit moves
        simulated.transmissions, -- number of times that a unit crosses a link
        simulated.time_value as time, -- simulated time
        closed.time_value as closed_form, -- time by the paper's closed form
        lower.time_value as bound, -- lower bound on the time
        -- A faulty link is written as two labels joined by '-', a faulty node as one label.
        case when run.missing = 0
            and not exists (
                select from jsonb_array_elements_text(run.faults) as fault
                where strpos(fault, '-') = 0
            )
            then simulated.time_value / nullif(lower.time_value, 0) end
            as gap,
            -- time / bound; null if a node is faulty or units are missing (bound: full delivery)
        case when run.status = 'complete' then run.missing end as missing,
            -- number of (node, unit) pairs undelivered because of faults; null if the run failed
        run.provenance ->> 'version' as version, -- version of starcast that executed the run
        run.provenance ->> 'revision' as revision, -- git revision of starcast
        run.finished_at -- when the costs were computed
    from run
    join experiment on experiment.id = run.experiment
    left join cost as simulated on simulated.run = run.id and simulated.kind = 'simulated'
    left join cost as closed on closed.run = run.id and closed.kind = 'closed form'
    left join cost as lower on lower.run = run.id and lower.kind = 'lower bound'
    """,  # noqa: S608 - of names declared in the code
)

CLAIM_SUMMARY = View(
    "claim_summary",
    "One row per claim: its newest stored verdict, and the verification run with this verdict.",
    """
    select
        verdict.claim, -- id of the claim: TS.L5
        verdict.verdict, -- holds, holds as a bound, fails or not checkable
        verdict.sizes, -- sizes that were checked
        verdict.counterexample, -- counterexample; null unless the claim fails
        verdict.subject, -- id of the forest or schedule of the counterexample, or empty
        verdict.detail, -- description of the findings
        (select sum(evidence.seconds) from claim_evidence as evidence
            where evidence.claim_run = verdict.claim_run and evidence.claim = verdict.claim)
            as seconds, -- total seconds of the claim's checks
        verdict.claim_run, -- number of the verification run
        claim_run.level, -- quick, full or deep; null if sizes were given instead
        claim_run.version, -- version of starcast
        claim_run.revision, -- git revision of starcast
        claim_run.finished_at -- when the verification run finished
    from claim_verdict as verdict
    join claim_run on claim_run.id = verdict.claim_run
    where verdict.claim_run = (select max(newest.claim_run) from claim_verdict as newest
        where newest.claim = verdict.claim)
    """,
)

# New columns are added at the end, so that other programs' views on this view remain valid.
ARTIFACT = View(
    "artifact",
    "One row per known artifact, complete or not: a topology, forest or schedule with its state in"
    " the graph and its measured values. Columns that do not apply to an artifact's kind are null.",
    """
    select
        state.kind, -- topology, forest or schedule
        state.id, -- id of the artifact
        split_part(state.id, ':', 1) as topology, -- spec of the artifact's topology
        state.state, -- planned, loading, complete (verified and usable) or failed
        state.method, -- load method: bolt or import
        state.error, -- why the artifact is not complete
        topology.family, -- family of a topology
        topology.nodes, -- number of nodes of a topology
        topology.links, -- number of undirected links of a topology
        topology.degree, -- maximum number of links at a node of a topology
        topology.diameter, -- maximum distance between two endpoints of a topology
        forest.construction, -- construction of a forest
        forest.root_label, -- label of the root of a forest
        forest.trees, -- number of trees in a forest
        forest.height, -- largest level in a forest
        forest.congestion, -- maximum number of trees of a forest that use the same directed link
        schedule.forest, -- id of the forest of a schedule
        schedule.collective, -- collective of a schedule
        schedule.algorithm, -- algorithm of a schedule
        schedule.ports, -- port model of a schedule
        coalesce(forest.arguments, schedule.arguments) as arguments,
            -- arguments of the construction or algorithm
        schedule.steps, -- number of steps of a schedule
        schedule.transmissions, -- number of times that a unit of a schedule crosses a link
        schedule.largest_packet,
            -- maximum number of units on a directed link in a step of a schedule
        state.expected_nodes as graph_nodes,
            -- number of nodes that the artifact adds to the graph, other than its own node
        state.expected_relationships as graph_relationships,
            -- number of links, tree edges or sends that the artifact adds to the graph
        state.started_at, -- when loading was planned
        state.finished_at, -- when the artifact became complete or failed
        topology.endpoints -- number of nodes of a topology that are not switches
    from materialization as state
    left join topology on state.kind = 'topology' and topology.spec = state.id
    left join forest on state.kind = 'forest' and forest.id = state.id
    left join schedule on state.kind = 'schedule' and schedule.id = state.id
    """,
)

VIEWS = (RUN_SUMMARY, CLAIM_SUMMARY, ARTIFACT)
