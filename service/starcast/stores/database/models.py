"""The PostgreSQL tables as typed SQLAlchemy models; the migrations create the same tables.

Tables and columns are documented only here: class docstrings and column comments become
``COMMENT ON`` statements in PostgreSQL and the page docs/schema.md. Deleting a row also deletes its
parts, such as the trees of a forest. PostgreSQL refuses to delete an artifact to which other rows
refer. A column of type `Exact`, such as ``time``, can have a companion column of doubles, such as
``time_value``, for sorting and SQL.
"""

import uuid
from datetime import datetime
from fractions import Fraction
from typing import Any, get_args

from sqlalchemy import ForeignKey, Identity, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped

from starcast.stores.database import columns
from starcast.stores.database.columns import (
    ARRAY,
    COUNTS,
    NAME,
    OBJECT,
    RATIONAL,
    SPEC,
    AxisColumns,
    Big,
    Small,
    counts,
    double_of,
    empty_array,
    empty_object,
    field,
    key,
    moment,
    part_of,
)
from starcast.support.axes import AXES
from starcast.support.vocabulary import LEVELS, VERDICT_WORDS, VERIFICATIONS, Collective, Ports

#: The base class of all tables.
Base = columns.Base

#: Kinds of artifacts, in the order in which they are built.
KINDS = ("topology", "forest", "schedule")
#: Check that the id of a forest or schedule begins with the spec of its topology.
_ARTIFACT_ID = "starts_with({}, topology || ':')"


class Store(Base):
    """The identity of this database, in one row.

    The graph store records the same id, so starcast detects stores that do not belong together.
    """

    # A unique index on a constant allows only one row.
    __table_args__ = (Index("ix_store_one_row", text("(true)"), unique=True),)

    id: Mapped[uuid.UUID] = key(
        "random id, which the node (:Store) of the graph records too",
        server_default=text("gen_random_uuid()"),
    )
    created_at: Mapped[datetime] = moment("when the tables were created")


class Family(Base):
    """A family of topologies. Plug-ins can add families, so this is a table, not an enumeration."""

    name: Mapped[str] = key("name of the family: star")
    noun: Mapped[str] = field("noun for the family's topologies in sentences: star graphs")


class StoredNetwork(Base):
    """A topology that is given by its links, such as one read from a file.

    A network that an ingested topology, a run or a record uses cannot be deleted.
    """

    __tablename__ = "network"

    spec: Mapped[str] = key("name and first SHA-256 digits of the network: mine-3fa2c1", check=SPEC)
    name: Mapped[str] = field("name that the user gave to the network: mine", index=True)
    sha256: Mapped[str] = field(
        "SHA-256 of labels, switches, links, capacities and latencies",
        check="{} ~ '^[0-9a-f]{64}$'",
    )
    labels: Mapped[list[Any]] = field("label of each node, in order of rank", check=ARRAY)
    titles: Mapped[list[Any]] = field("text of each node in the source, by rank", check=ARRAY)
    links: Mapped[bytes] = field(
        "for each link three integers of four bytes, the lowest byte first: the lower rank, the"
        " higher rank and the port"
    )
    positions: Mapped[list[Any]] = field(
        "coordinates of each node in a drawing, by rank, or empty",
        check=ARRAY, server_default=text("'[]'"),
    )  # fmt: skip
    endpoints: Mapped[int | None] = field(
        "number of endpoints (nodes that are not switches), which have the lowest ranks; null in"
        " rows of older versions, in which all nodes are endpoints"
    )
    capacities: Mapped[list[Any]] = field(
        "capacity of each link, in the order of links, or empty if all are 1",
        check=ARRAY, server_default=text("'[]'"),
    )  # fmt: skip
    latencies: Mapped[list[Any]] = field(
        "latency of each link in the unit of T_s, in the order of links, or empty if all are 0",
        check=ARRAY, server_default=text("'[]'"),
    )  # fmt: skip
    capacity_unit: Mapped[float] = field(
        "capacity of a link of capacity 1, in the unit of the source", server_default=text("1")
    )
    source: Mapped[str] = field("origin of the network, or empty", server_default=text("''"))
    licence: Mapped[str] = field("licence of the source, or empty", server_default=text("''"))
    created_at: Mapped[datetime] = moment("when the row was stored")


class Topology(Base):
    """An ingested topology with its size, degree and diameter."""

    __table_args__ = (
        counts(
            "nodes > 0 and links > 0 and degree > 0 and diameter > 0"
            " and endpoints > 0 and endpoints <= nodes"
        ),
    )

    spec: Mapped[str] = key("name of the topology: S5, S6,3", check=SPEC)
    family: Mapped[str] = field("name of the family", ForeignKey("family.name"))
    n: Mapped[int] = field("size parameter of the family: n of S_n and S_n,k; d of Q_d")
    k: Mapped[int | None] = field("k of S_n,k, else null")
    nodes: Mapped[Big] = field("number of nodes")
    endpoints: Mapped[Big] = field("number of nodes that are not switches")
    links: Mapped[Big] = field("number of undirected links")
    degree: Mapped[Small] = field("maximum number of links at a node")
    diameter: Mapped[int | None] = field(
        "maximum distance between two endpoints; null for a network with an unknown diameter"
    )


class NodeKey(Base):
    """The number with which a topology's node keys in Neo4j begin.

    Topologies of the families star, nk-star and hypercube need no number.
    """

    topology: Mapped[str] = key("spec of the topology", check=SPEC)
    number: Mapped[int] = field("number of 21 bits, unique in this database", unique=True)


class Forest(Base):
    """An ingested forest. The trees of the forest are in the table tree."""

    __table_args__ = (counts("root >= 0 and trees > 0 and height > 0 and congestion > 0"),)

    id: Mapped[str] = key("id such as S5:multiple:12345", check=_ARTIFACT_ID)
    topology: Mapped[str] = field("spec of the topology", ForeignKey("topology.spec"), index=True)
    construction: Mapped[str] = field("construction that built the forest: multiple", check=NAME)
    arguments: Mapped[dict[str, Any]] = empty_object("arguments of the construction, by name")
    root: Mapped[Big] = field("rank of the root")
    root_label: Mapped[str] = field("label of the root: 12345")
    trees: Mapped[Small] = field("number of trees")
    height: Mapped[int] = field("largest level in any tree")
    congestion: Mapped[Small] = field("maximum number of trees that use the same directed link")
    created_at: Mapped[datetime] = moment("when the row was stored")


class Tree(Base):
    """One tree of a forest."""

    __table_args__ = (counts("number >= 0 and height > 0 and leaves > 0 and size > 1"),)

    forest: Mapped[str] = part_of("forest.id", "id of the forest")
    number: Mapped[Small] = key("number of the tree in the forest, from 0")
    height: Mapped[int] = field("largest level")
    leaves: Mapped[Big] = field("number of leaves")
    size: Mapped[Big] = field("number of nodes")
    parent_port: Mapped[bytes] = field(
        "one byte per node in order of rank: the port towards the parent, 0 at the root and at"
        " nodes outside the tree"
    )


class Schedule(Base):
    """An ingested schedule with the results of its simulation."""

    __table_args__ = (
        counts("steps > 0 and transmissions > 0 and largest_packet > 0 and units > 0"),
    )

    id: Mapped[str] = key("id such as S5:broadcast:multiple:all::12345", check=_ARTIFACT_ID)
    topology: Mapped[str] = field("spec of the topology", ForeignKey("topology.spec"), index=True)
    forest: Mapped[str | None] = field(
        "id of the forest, or null if no forest is used", ForeignKey("forest.id"), index=True
    )
    collective: Mapped[str] = field(
        "broadcast, allgather, scatter, ...", words=get_args(Collective)
    )
    algorithm: Mapped[str] = field("algorithm that built the schedule", check=NAME)
    ports: Mapped[str] = field("port model: all or one", words=get_args(Ports))
    arguments: Mapped[dict[str, Any]] = empty_object("arguments of the algorithm, by name")
    root: Mapped[Big] = field("rank of the root")
    symmetric: Mapped[bool] = field(
        "whether the schedule lists only the rows of one source, which represent all sources"
    )
    steps: Mapped[int] = field("last step in which a unit moves")
    transmissions: Mapped[Big] = field("number of times that a unit crosses a link")
    largest_packet: Mapped[Big] = field("maximum number of units on a directed link in a step")
    units: Mapped[Big] = field("number of distinct units")


class _Step:
    """The columns of `ScheduleStep` and `StepProfile`; each row describes one simulated step."""

    step: Mapped[int] = key("step number, from 1")
    links_used: Mapped[Big] = field("number of directed links used")
    packets: Mapped[Big] = field("number of packets sent")
    largest_packet: Mapped[Big] = field("number of units in the largest packet")


class ScheduleStep(_Step, Base):
    """One step of a simulated schedule."""

    schedule: Mapped[str] = part_of("schedule.id", "id of the schedule")


class Materialization(Base):
    """The state of one artifact in the graph store. An artifact without a row counts as absent."""

    __table_args__ = (
        counts("expected_nodes >= 0 and expected_relationships >= 0"),
        Index("ix_materialization_topology", text("split_part(id, ':', 1)")),
    )

    kind: Mapped[str] = key("topology, forest or schedule", words=KINDS)
    id: Mapped[str] = key("id of the artifact", check=SPEC.replace("{}", "split_part({}, ':', 1)"))
    state: Mapped[str] = field(
        "planned, loading, complete or failed",
        words=("planned", "loading", "complete", "failed"),
    )
    method: Mapped[str] = field("load method: bolt or import", words=("bolt", "import"))
    expected_nodes: Mapped[Big] = field(
        "number of nodes that the artifact adds to the graph, other than its own node"
    )
    expected_relationships: Mapped[Big] = field(
        "number of links, tree edges or sends that the artifact adds to the graph"
    )
    found_nodes: Mapped[Big | None] = field(
        "number of nodes counted in the graph; null unless loaded over Bolt"
    )
    found_relationships: Mapped[Big | None] = field(
        "number of relationships counted in the graph; null unless loaded over Bolt"
    )
    expected_checksum: Mapped[str] = field("checksum of the built artifact")
    found_checksum: Mapped[str | None] = field(
        "checksum computed by the graph store; null unless loaded over Bolt"
    )
    plugins: Mapped[dict[str, Any]] = empty_object(
        "module, version and SHA-256 of the plug-ins that built the artifact, by name"
    )
    error: Mapped[str | None] = field("why the artifact is not complete")
    started_at: Mapped[datetime] = moment("when loading was planned")
    finished_at: Mapped[datetime | None] = field("when loading ended")


class Experiment(Base):
    """A named set of runs."""

    id: Mapped[int] = key("number in this store", Identity())
    name: Mapped[str] = field(
        "name, unique in this database", unique=True, check="{} ~ '^[A-Za-z0-9][A-Za-z0-9._-]*$'"
    )
    grid: Mapped[dict[str, Any]] = empty_object("grids as JSON; {} for a collection of single runs")
    points: Mapped[int | None] = field(
        "number of points in the grids; null if no grid exists, or in rows from before schema"
        " revision 0002",
        check="{} > 0",
    )
    created_at: Mapped[datetime] = moment("when the first run was stored")


class Run(Base, AxisColumns):
    """An algorithm executed at one point of an experiment, with its costs.

    Points that differ only in message_bytes, t_s, t_c and seed share one execution, if the
    execution is synchronous and all links are equal. The runs of such points have the same
    ``started_at`` and, except for the phase ``price``, the same ``timings``. A sum of ``timings``
    over runs would count such executions several times.
    """

    # A run needs no ingested topology, so its topology is not a foreign key.
    __table_args__ = (
        counts(f"{COUNTS} and missing >= 0"),
        # Nulls count as equal, so that two runs at the same point are duplicates even if an axis
        # has no value.
        UniqueConstraint(
            "experiment", *AXES, name="uq_run_point", postgresql_nulls_not_distinct=True
        ),
        Index("ix_run_question", "topology", "collective", "message_bytes", "ports"),
        Index("ix_run_algorithm", "algorithm", "collective"),
    )

    id: Mapped[Big] = key("number in this store", Identity(), sort_order=-3)
    experiment: Mapped[int] = field(
        "number of the experiment", ForeignKey("experiment.id", ondelete="CASCADE"), sort_order=-2
    )
    message_units: Mapped[Big | None] = field(
        "number of pieces into which a message is split; null in some runs of older versions"
    )
    missing: Mapped[Big] = field(
        "number of (node, unit) pairs undelivered because of faults", server_default=text("0")
    )
    status: Mapped[str] = field("complete or failed", words=("complete", "failed"))
    error: Mapped[str | None] = field(
        "why the run failed", check="(status = 'failed') = ({} is not null)"
    )
    timings: Mapped[dict[str, Any]] = empty_object(
        "seconds of each phase: build, verify, simulate, price"
    )
    provenance: Mapped[dict[str, Any]] = empty_object(
        "code, libraries and machine that produced the run"
    )
    started_at: Mapped[datetime] = field("start of the execution")
    finished_at: Mapped[datetime] = field("when the costs were computed")


class Cost(Base):
    """One of the costs of a run: its closed form, its simulated cost, or its lower bound.

    Values that the source of the cost, such as a paper, does not give are null.
    """

    __table_args__ = (counts("steps >= 0 and transmissions >= 0"),)

    run: Mapped[int] = part_of("run.id", "number of the run")
    kind: Mapped[str] = key(
        "closed form, simulated, lower bound",
        words=("closed form", "simulated", "lower bound"),
    )
    steps: Mapped[Big | None] = field("number of steps")
    start_ups: Mapped[Fraction | None] = field("coefficient of t_s, exact", check=RATIONAL)
    transmissions: Mapped[Big | None] = field("number of times that a unit crosses a link")
    bytes: Mapped[Fraction | None] = field("coefficient of t_c, exact", check=RATIONAL)
    time: Mapped[Fraction] = field(
        "start_ups * t_s + bytes * t_c, plus latencies of links, exact; for a lower bound, the"
        " larger of the two terms",
        check=RATIONAL,
    )
    source: Mapped[str] = field("paper and number in the paper, or simulated")
    bytes_value: Mapped[float | None] = double_of("bytes")
    time_value: Mapped[float | None] = double_of("time")


class StepProfile(_Step, Base):
    """One step of a simulated run."""

    run: Mapped[int] = part_of("run.id", "number of the run")


class ClaimRun(Base):
    """A verification run: one stored pass over claims of the papers."""

    id: Mapped[int] = key("number in this store", Identity())
    names: Mapped[list[Any]] = empty_array(
        "requested claim ids and id prefixes; empty for all claims"
    )
    level: Mapped[str | None] = field("quick, full or deep; null if sizes were given", words=LEVELS)
    sizes: Mapped[list[Any] | None] = field(
        "requested sizes, or null",
        check="(level is null) = ({} is not null)",
    )
    version: Mapped[str] = field("version of starcast")
    revision: Mapped[str | None] = field("git revision, or null outside a checkout")
    dirty: Mapped[bool | None] = field("whether the checkout had changes; null outside a checkout")
    finished_at: Mapped[datetime] = moment("when the verdicts were stored")
    packs: Mapped[dict[str, Any]] = empty_object(
        "paper packs that define the claims: folder and SHA-256, by paper key"
    )


class _CheckedClaim:
    """The columns that identify a claim in a verification run."""

    claim_run: Mapped[int] = part_of(
        "claim_run.id", "number of the verification run", sort_order=-2
    )
    claim: Mapped[str] = key("id of the claim: TS.L5", sort_order=-1, check="{} ~ '^[A-Z]+[.]'")


class ClaimEvidence(_CheckedClaim, Base):
    """The evidence that a verification run found for one claim at one size."""

    size: Mapped[str] = key("size that was checked: S5")
    evidence: Mapped[dict[str, Any]] = field("findings as JSON", check=OBJECT)
    seconds: Mapped[float] = field(
        "seconds of the check; work shared by several claims is counted for the first claim",
        check="{} >= 0",
    )


class ClaimVerdict(_CheckedClaim, Base):
    """The verdict on one claim in one verification run."""

    __table_args__ = (Index("ix_claim_verdict_claim", "claim", "claim_run"),)

    verdict: Mapped[str] = field(
        "holds, holds as a bound, fails or not checkable", words=VERDICT_WORDS
    )
    sizes: Mapped[list[Any]] = field("sizes that were checked", check=ARRAY)
    counterexample: Mapped[dict[str, Any] | None] = field(
        "counterexample; null unless the claim fails",
        check="{} is null or verdict = 'fails'",
    )
    detail: Mapped[str] = field("description of the findings")
    subject: Mapped[str] = field(
        "id of the forest or schedule of the counterexample, or empty", server_default=text("''")
    )


class StoredRecord(Base):
    """The best known object of a search problem on a topology, with witness and proof."""

    __tablename__ = "record"

    id: Mapped[str] = key("id such as congestion-trees:S4:congestion=2")
    problem: Mapped[str] = field("search problem: one-port-broadcast")
    topology: Mapped[str] = field("spec of the topology, which need not be ingested", check=SPEC)
    arguments: Mapped[dict[str, Any]] = empty_object("arguments of the problem, by name")
    value: Mapped[int] = field("value of the witness")
    bound: Mapped[int] = field("bound on the value: no object has a better value")
    optimal: Mapped[bool] = field("whether value and bound are equal", check="{} = (value = bound)")
    reason: Mapped[str] = field("why the bound holds")
    proof: Mapped[dict[str, Any] | None] = field(
        "evidence for the bound with SHA-256 and checker; null if the bound follows from theory or"
        " inequalities",
    )
    verification: Mapped[str] = field(
        "result of checking the bound: verified, not made again or not checked",
        words=VERIFICATIONS,
    )
    witness: Mapped[bytes] = field("arrays of the object, as an npz file")
    solver: Mapped[str] = field("solver with its version, or empty")
    version: Mapped[str] = field("version of starcast")
    seconds: Mapped[float] = field("total seconds of the searches", check="{} >= 0")
    command: Mapped[str] = field("command that repeats the search")
    tried: Mapped[list[Any]] = empty_array("searches, each with method, target, result and seconds")
    stored_at: Mapped[datetime] = moment("when the record was stored")
