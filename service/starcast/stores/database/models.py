"""The PostgreSQL tables as typed SQLAlchemy models; the migrations create the same tables.

Tables and columns are documented only here: class docstrings and column comments become
``COMMENT ON`` statements in PostgreSQL and the page docs/schema.md. Deleting a row also deletes its
parts, such as the trees of a forest. PostgreSQL refuses to delete an artifact that is still
referred to. A column of type `Exact` has a column of doubles next to it (``time_value`` next to
``time``) for sorting and SQL.
"""

import uuid
from datetime import datetime
from fractions import Fraction
from typing import Any, get_args

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    Integer,
    SmallInteger,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column, relationship

from starcast.stores.database import columns
from starcast.stores.database.columns import (
    NAME,
    SPEC,
    AxisColumns,
    axis_checks,
    double_of,
    empty_array,
    empty_object,
    json_type,
    matches,
    moment,
    one_of,
    rational,
)
from starcast.support.axes import AXES
from starcast.support.vocabulary import LEVELS, VERDICT_WORDS, VERIFICATIONS, Collective, Ports

#: The base class of all tables.
Base = columns.Base

PORTS: tuple[str, ...] = get_args(Ports)
COLLECTIVES: tuple[str, ...] = get_args(Collective)
#: Kinds of artifacts, in the order in which they are built.
KINDS = ("topology", "forest", "schedule")
STATES = ("planned", "loading", "complete", "failed")
METHODS = ("bolt", "import")
STATUSES = ("complete", "failed")
COSTS = ("closed form", "simulated", "lower bound")


class Store(Base):
    """The identity of this database, in one row.

    The graph store holds the same id, which shows whether the two belong together.
    """

    __tablename__ = "store"
    # A unique index on a constant allows only one row.
    __table_args__ = (Index("ix_store_one_row", text("(true)"), unique=True),)

    id: Mapped[uuid.UUID] = mapped_column(
        primary_key=True,
        server_default=text("gen_random_uuid()"),
        comment="random id, which the node (:Store) of the graph records too",
    )
    created_at: Mapped[datetime] = moment("when it was created")


class Family(Base):
    """A family of topologies. Plug-ins add theirs, so this is a table and not an enumeration."""

    __tablename__ = "family"

    name: Mapped[str] = mapped_column(primary_key=True, comment="name of the family: star")
    noun: Mapped[str] = mapped_column(comment="noun for its topologies in sentences: star graphs")


class Topology(Base):
    """An ingested topology with its counts."""

    __tablename__ = "topology"
    __table_args__ = (
        CheckConstraint("nodes > 0 and links > 0 and degree > 0 and diameter > 0", name="counts"),
        matches("spec", SPEC),
    )

    spec: Mapped[str] = mapped_column(primary_key=True, comment="name of the topology: S5, S6,3")
    family: Mapped[str] = mapped_column(ForeignKey("family.name"), comment="name of its family")
    n: Mapped[int] = mapped_column(SmallInteger, comment="n of S_n and S_n,k; d of Q_d")
    k: Mapped[int | None] = mapped_column(SmallInteger, comment="k of S_n,k, else null")
    nodes: Mapped[int] = mapped_column(BigInteger, comment="number of nodes")
    links: Mapped[int] = mapped_column(BigInteger, comment="number of undirected links")
    degree: Mapped[int] = mapped_column(SmallInteger, comment="number of links at each node")
    diameter: Mapped[int] = mapped_column(SmallInteger, comment="largest distance of two nodes")


class Forest(Base):
    """An ingested forest. Its trees are in the table tree."""

    __tablename__ = "forest"
    __table_args__ = (
        CheckConstraint("root >= 0 and trees > 0 and height > 0 and congestion > 0", name="counts"),
        columns.belongs_to_topology(),
        matches("construction", NAME),
        json_type("arguments", "object"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, comment="id such as S5:multiple:12345")
    topology: Mapped[str] = mapped_column(
        ForeignKey("topology.spec"), index=True, comment="spec of its topology"
    )
    construction: Mapped[str] = mapped_column(comment="construction that built it: multiple")
    arguments: Mapped[dict[str, Any]] = empty_object("arguments of the construction, by name")
    root: Mapped[int] = mapped_column(BigInteger, comment="rank of the root")
    root_label: Mapped[str] = mapped_column(comment="label of the root: 12345")
    trees: Mapped[int] = mapped_column(SmallInteger, comment="number of trees")
    height: Mapped[int] = mapped_column(SmallInteger, comment="largest level in any tree")
    congestion: Mapped[int] = mapped_column(SmallInteger, comment="most trees on a directed link")
    created_at: Mapped[datetime] = moment("when it was stored")


class Tree(Base):
    """One tree of a forest."""

    __tablename__ = "tree"
    __table_args__ = (
        CheckConstraint("number >= 0 and height > 0 and leaves > 0 and size > 1", name="counts"),
    )

    forest: Mapped[str] = mapped_column(
        ForeignKey("forest.id", ondelete="CASCADE"), primary_key=True, comment="id of its forest"
    )
    number: Mapped[int] = mapped_column(
        SmallInteger, primary_key=True, comment="number of the tree in the forest, from 0"
    )
    height: Mapped[int] = mapped_column(SmallInteger, comment="largest level")
    leaves: Mapped[int] = mapped_column(BigInteger, comment="number of leaves")
    size: Mapped[int] = mapped_column(BigInteger, comment="number of nodes")
    parent_port: Mapped[bytes] = mapped_column(
        comment="one byte per node in order of rank: the port towards the parent, 0 at the root and"
        " at nodes outside the tree"
    )


class Schedule(Base):
    """An ingested schedule with the results of its simulation."""

    __tablename__ = "schedule"
    __table_args__ = (
        one_of("ports", PORTS),
        one_of("collective", COLLECTIVES),
        CheckConstraint(
            "steps > 0 and transmissions > 0 and largest_packet > 0 and units > 0", name="counts"
        ),
        columns.belongs_to_topology(),
        matches("algorithm", NAME),
        json_type("arguments", "object"),
    )

    id: Mapped[str] = mapped_column(
        primary_key=True, comment="id such as S5:broadcast:multiple:all::12345"
    )
    topology: Mapped[str] = mapped_column(
        ForeignKey("topology.spec"), index=True, comment="spec of its topology"
    )
    forest: Mapped[str | None] = mapped_column(
        ForeignKey("forest.id"), index=True, comment="id of its forest; null if it uses no forest"
    )
    collective: Mapped[str] = mapped_column(comment="broadcast, allgather, scatter, ...")
    algorithm: Mapped[str] = mapped_column(comment="algorithm that built it")
    ports: Mapped[str] = mapped_column(comment="port model: all or one")
    arguments: Mapped[dict[str, Any]] = empty_object("arguments of the algorithm, by name")
    root: Mapped[int] = mapped_column(BigInteger, comment="rank of the root")
    symmetric: Mapped[bool] = mapped_column(
        comment="whether it has only the rows of the identity, which represent those of all sources"
    )
    steps: Mapped[int] = mapped_column(Integer, comment="last step in which a unit moves")
    transmissions: Mapped[int] = mapped_column(BigInteger, comment="times that units cross links")
    largest_packet: Mapped[int] = mapped_column(
        BigInteger, comment="maximum number of units on a directed link in a step"
    )
    units: Mapped[int] = mapped_column(BigInteger, comment="number of distinct units")


class _Step:
    """The columns of one step of a simulation."""

    step: Mapped[int] = mapped_column(Integer, primary_key=True, comment="step number, from 1")
    links_used: Mapped[int] = mapped_column(BigInteger, comment="directed links used")
    packets: Mapped[int] = mapped_column(BigInteger, comment="packets sent")
    largest_packet: Mapped[int] = mapped_column(BigInteger, comment="units in the largest packet")


class ScheduleStep(_Step, Base):
    """One step of a simulated schedule."""

    __tablename__ = "schedule_step"

    schedule: Mapped[str] = mapped_column(
        ForeignKey("schedule.id", ondelete="CASCADE"),
        primary_key=True,
        comment="id of its schedule",
    )


class Materialization(Base):
    """The state of one artifact in the graph store. An artifact without a row is unknown."""

    __tablename__ = "materialization"
    __table_args__ = (
        one_of("kind", KINDS),
        one_of("state", STATES),
        one_of("method", METHODS),
        CheckConstraint(f"split_part(id, ':', 1) ~ '{SPEC}'", name="id"),
        json_type("plugins", "object"),
        CheckConstraint("expected_nodes >= 0 and expected_relationships >= 0", name="counts"),
        Index("ix_materialization_topology", text("split_part(id, ':', 1)")),
    )

    kind: Mapped[str] = mapped_column(primary_key=True, comment="topology, forest or schedule")
    id: Mapped[str] = mapped_column(primary_key=True, comment="id of the artifact")
    state: Mapped[str] = mapped_column(comment="planned, loading, complete or failed")
    method: Mapped[str] = mapped_column(comment="load method: bolt or import")
    expected_nodes: Mapped[int] = mapped_column(BigInteger, comment="its nodes")
    expected_relationships: Mapped[int] = mapped_column(BigInteger, comment="its relationships")
    found_nodes: Mapped[int | None] = mapped_column(BigInteger, comment="nodes found in the graph")
    found_relationships: Mapped[int | None] = mapped_column(
        BigInteger, comment="relationships found in the graph"
    )
    expected_checksum: Mapped[str] = mapped_column(comment="checksum of the built artifact")
    found_checksum: Mapped[str | None] = mapped_column(comment="checksum of its rows in the graph")
    plugins: Mapped[dict[str, Any]] = empty_object(
        "module, version and SHA-256 of the plug-ins that built it, by name"
    )
    error: Mapped[str | None] = mapped_column(comment="why the artifact is not complete")
    started_at: Mapped[datetime] = moment("when loading was planned")
    finished_at: Mapped[datetime | None] = mapped_column(comment="when loading ended")


class Experiment(Base):
    """A named set of runs."""

    __tablename__ = "experiment"
    __table_args__ = (
        matches("name", r"^[A-Za-z0-9][A-Za-z0-9._-]*$"),
        json_type("grid", "object"),
        CheckConstraint("points > 0", name="points"),
    )

    id: Mapped[int] = mapped_column(
        Integer, Identity(), primary_key=True, comment="number in this store"
    )
    name: Mapped[str] = mapped_column(unique=True, comment="name, unique in this database")
    grid: Mapped[dict[str, Any]] = empty_object("its grids; {} for a collection of single runs")
    points: Mapped[int | None] = mapped_column(
        Integer, comment="points in its grids; null without grids, and before revision 0002"
    )
    created_at: Mapped[datetime] = moment("when its first run was stored")


class Run(Base, AxisColumns):
    """An algorithm executed at one point of an experiment's grid, with its costs.

    Points that differ only in message_bytes, t_s, t_c and seed share one execution, unless it is
    asynchronous: their runs have equal timings and started_at. A sum of timings over runs would
    count such executions several times.
    """

    # A run needs no ingested topology, so its topology is not a foreign key.
    __tablename__ = "run"
    __table_args__ = (
        *axis_checks(),
        one_of("status", STATUSES),
        matches("topology", SPEC),
        matches("algorithm", NAME),
        json_type("timings", "object"),
        json_type("provenance", "object"),
        CheckConstraint("(status = 'failed') = (error is not null)", name="error"),
        # Nulls count as equal, so that two runs at the same point are duplicates even if an axis
        # has no value.
        UniqueConstraint(
            "experiment", *AXES, name="uq_run_point", postgresql_nulls_not_distinct=True
        ),
        Index("ix_run_question", "topology", "collective", "message_bytes", "ports"),
        Index("ix_run_algorithm", "algorithm", "collective"),
    )

    id: Mapped[int] = mapped_column(
        BigInteger, Identity(), primary_key=True, sort_order=-3, comment="number in this store"
    )
    experiment: Mapped[int] = mapped_column(
        ForeignKey("experiment.id", ondelete="CASCADE"),
        sort_order=-2,
        comment="number of its experiment",
    )
    message_units: Mapped[int | None] = mapped_column(
        BigInteger,
        comment="pieces into which a message is split; null in runs of older versions",
    )
    missing: Mapped[int] = mapped_column(
        BigInteger,
        server_default=text("0"),
        comment="(node, unit) pairs that the faults left undelivered",
    )
    status: Mapped[str] = mapped_column(comment="complete or failed")
    error: Mapped[str | None] = mapped_column(comment="why it failed")
    timings: Mapped[dict[str, Any]] = empty_object(
        "seconds of each phase: build, verify, simulate, price"
    )
    provenance: Mapped[dict[str, Any]] = empty_object(
        "code, libraries and machine that produced it"
    )
    started_at: Mapped[datetime] = mapped_column(comment="start of its execution")
    finished_at: Mapped[datetime] = mapped_column(comment="when its costs were computed")
    # One query loads the costs of all selected runs, instead of one query per run.
    costs: Mapped[list["Cost"]] = relationship(
        order_by="Cost.kind", cascade="all, delete-orphan", passive_deletes=True, lazy="selectin"
    )


class Cost(Base):
    """One of the costs of a run: its closed form, its simulated cost, or its lower bound.

    A value that the source does not give is null.
    """

    __tablename__ = "cost"
    __table_args__ = (
        one_of("kind", COSTS),
        rational("start_ups"),
        rational("bytes"),
        rational("time"),
        CheckConstraint("steps >= 0 and transmissions >= 0", name="counts"),
    )

    run: Mapped[int] = mapped_column(
        ForeignKey("run.id", ondelete="CASCADE"), primary_key=True, comment="number of its run"
    )
    kind: Mapped[str] = mapped_column(
        primary_key=True, comment="closed form, simulated, lower bound"
    )
    steps: Mapped[int | None] = mapped_column(BigInteger, comment="number of steps")
    start_ups: Mapped[Fraction | None] = mapped_column(comment="coefficient of t_s, exact")
    transmissions: Mapped[int | None] = mapped_column(
        BigInteger, comment="times that units cross links"
    )
    bytes: Mapped[Fraction | None] = mapped_column(comment="coefficient of t_c, exact")
    time: Mapped[Fraction] = mapped_column(
        comment="start_ups * t_s + bytes * t_c, exact; for a lower bound the larger of the two"
    )
    source: Mapped[str] = mapped_column(comment="paper and number in the paper, or simulated")
    bytes_value: Mapped[float | None] = double_of("bytes")
    time_value: Mapped[float | None] = double_of("time")


class StepProfile(_Step, Base):
    """One step of a simulated run."""

    __tablename__ = "step_profile"

    run: Mapped[int] = mapped_column(
        ForeignKey("run.id", ondelete="CASCADE"), primary_key=True, comment="number of its run"
    )


class ClaimRun(Base):
    """A verification run: one stored pass over claims of the papers."""

    __tablename__ = "claim_run"
    __table_args__ = (
        one_of("level", LEVELS),
        CheckConstraint("(level is null) = (sizes is not null)", name="sizes"),
        json_type("names", "array"),
    )

    id: Mapped[int] = mapped_column(
        Integer, Identity(), primary_key=True, comment="number in this store"
    )
    names: Mapped[list[Any]] = empty_array(
        "requested claim ids and beginnings of ids; none for all claims"
    )
    level: Mapped[str | None] = mapped_column(
        comment="quick, full or deep; null if sizes were given"
    )
    sizes: Mapped[list[Any] | None] = mapped_column(
        JSONB(none_as_null=True), comment="requested sizes, or null"
    )
    version: Mapped[str] = mapped_column(comment="version of starcast")
    revision: Mapped[str | None] = mapped_column(comment="git revision, or null outside a checkout")
    dirty: Mapped[bool | None] = mapped_column(
        comment="whether the checkout had changes; null outside a checkout"
    )
    finished_at: Mapped[datetime] = moment("when its verdicts were stored")


class _CheckedClaim:
    """The columns that identify a claim in a verification run."""

    claim_run: Mapped[int] = mapped_column(
        ForeignKey("claim_run.id", ondelete="CASCADE"),
        primary_key=True,
        sort_order=-2,
        comment="number of its run",
    )
    claim: Mapped[str] = mapped_column(
        primary_key=True, sort_order=-1, comment="id of the claim: TS.L5"
    )


class ClaimEvidence(_CheckedClaim, Base):
    """The evidence of one claim at one size."""

    __tablename__ = "claim_evidence"
    __table_args__ = (
        matches("claim", r"^[A-Z]+[.]"),
        json_type("evidence", "object"),
        CheckConstraint("seconds >= 0", name="seconds"),
    )

    size: Mapped[str] = mapped_column(primary_key=True, comment="size that was checked: S5")
    evidence: Mapped[dict[str, Any]] = mapped_column(comment="findings as JSON")
    seconds: Mapped[float] = mapped_column(
        comment="time of the check; work that several claims share is counted for the first one"
    )


class ClaimVerdict(_CheckedClaim, Base):
    """The verdict on one claim in one verification run."""

    __tablename__ = "claim_verdict"
    __table_args__ = (
        one_of("verdict", VERDICT_WORDS),
        CheckConstraint("counterexample is null or verdict = 'fails'", name="counterexample"),
        matches("claim", r"^[A-Z]+[.]"),
        json_type("sizes", "array"),
        Index("ix_claim_verdict_claim", "claim", "claim_run"),
    )

    verdict: Mapped[str] = mapped_column(comment="holds, holds as a bound, fails or not checkable")
    sizes: Mapped[list[Any]] = mapped_column(comment="sizes that were checked")
    counterexample: Mapped[dict[str, Any] | None] = mapped_column(
        JSONB(none_as_null=True), comment="where the claim fails; null unless it fails"
    )
    detail: Mapped[str] = mapped_column(comment="description of the findings")
    subject: Mapped[str] = mapped_column(
        server_default=text("''"),
        comment="id of the forest or schedule of the counterexample, or empty",
    )


class StoredRecord(Base):
    """The best known object of a search problem on a topology, with witness and proof."""

    __tablename__ = "record"
    __table_args__ = (
        matches("topology", SPEC),
        json_type("arguments", "object"),
        json_type("tried", "array"),
        CheckConstraint("optimal = (value = bound)", name="optimal"),
        CheckConstraint("seconds >= 0", name="seconds"),
        one_of("verification", VERIFICATIONS),
    )

    id: Mapped[str] = mapped_column(
        primary_key=True, comment="id such as congestion-trees:S4:congestion=2"
    )
    problem: Mapped[str] = mapped_column(comment="search problem: one-port-broadcast")
    topology: Mapped[str] = mapped_column(
        comment="spec of the topology, which need not be ingested"
    )
    arguments: Mapped[dict[str, Any]] = empty_object("arguments of the problem, by name")
    value: Mapped[int] = mapped_column(Integer, comment="value of the witness")
    bound: Mapped[int] = mapped_column(
        Integer, comment="proven bound: no object has a better value"
    )
    optimal: Mapped[bool] = mapped_column(comment="whether value and bound agree")
    reason: Mapped[str] = mapped_column(comment="why the bound holds")
    proof: Mapped[dict[str, Any] | None] = mapped_column(
        JSONB(none_as_null=True),
        comment="evidence for the bound with SHA-256 and checker; null if it follows from theory",
    )
    verification: Mapped[str] = mapped_column(
        comment="result of checking the bound: verified, not made again or not checked"
    )
    witness: Mapped[bytes] = mapped_column(comment="arrays of the object, as an npz file")
    solver: Mapped[str] = mapped_column(comment="solver with its version, or empty")
    version: Mapped[str] = mapped_column(comment="version of starcast")
    seconds: Mapped[float] = mapped_column(comment="time of all its searches")
    command: Mapped[str] = mapped_column(comment="command that searches again")
    tried: Mapped[list[Any]] = empty_array("searches: method, target, result, seconds")
    stored_at: Mapped[datetime] = moment("when it was stored")
