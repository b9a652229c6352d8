"""The tables of PostgreSQL as typed SQLAlchemy models; the migrations create the same tables.

Deleting a row deletes its parts: the trees of a forest, the runs of an experiment, the costs of a
run. A topology, forest or schedule is stored in the graph on its own and deleted on its own, so
PostgreSQL refuses to delete one that another still refers to.

Figures that are compared are exact. `Exact` stores a `Fraction` as text, and PostgreSQL computes a
double next to it (``time_value`` next to ``time``) for sorting and for SQL written by hand.
"""

import uuid
from datetime import datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Computed,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Text,
    TypeDecorator,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

#: Constraint names follow from table and column, so that a migration can refer to them.
NAMING = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "ix": "ix_%(table_name)s_%(column_0_name)s",
}

PORTS = ("all", "one")
#: Kinds of artifacts, in the order in which they are built.
KINDS = ("topology", "forest", "schedule")
STATES = ("planned", "loading", "complete", "failed")
METHODS = ("bolt", "import")
STATUSES = ("complete", "failed")
COSTS = ("closed form", "simulated", "lower bound")
LEVELS = ("quick", "full", "deep")
VERDICTS = ("holds", "holds as a bound", "fails", "not checkable")


class Exact(TypeDecorator[Fraction]):
    """A rational number, stored as the text of a `Fraction`: ``1024``, ``23/3``."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Fraction | int | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Write the number in lowest terms."""
        return None if value is None else str(Fraction(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Fraction | None:  # noqa: ARG002
        """Read the number."""
        return None if value is None else Fraction(value)


class Base(DeclarativeBase):
    """The base class of all tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy's declarative names are class attributes
        str: Text,
        bytes: LargeBinary,
        float: Double,
        datetime: DateTime(timezone=True),
        Fraction: Exact,
        dict[str, Any]: JSONB,
        list[Any]: JSONB,
    }


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} in ({listed})", name=column)


def _rational(column: str) -> CheckConstraint:
    return CheckConstraint(f"{column} ~ '^\\d+(/[1-9]\\d*)?$'", name=column)


def _double(column: str) -> Mapped[float | None]:
    """Return the double of an exact column.

    The expression is written as PostgreSQL prints it, because alembic compares the two texts.
    """
    numerator = f"split_part({column}, '/'::text, 1)"
    denominator = f"COALESCE(NULLIF(split_part({column}, '/'::text, 2), ''::text), '1'::text)"
    ratio = f"({numerator})::double precision / ({denominator})::double precision"
    return mapped_column(Double, Computed(ratio, persisted=True))


class Store(Base):
    """The identity of this database, in one row.

    The graph store holds the same id, which shows whether the two belong together.
    """

    __tablename__ = "store"
    __table_args__ = (Index("ix_store_one_row", text("(true)"), unique=True),)

    id: Mapped[uuid.UUID] = mapped_column(
        primary_key=True, server_default=text("gen_random_uuid()")
    )
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Topology(Base):
    """An ingested topology: numbers of nodes and undirected links, degree and diameter."""

    __tablename__ = "topology"
    __table_args__ = (
        CheckConstraint("nodes > 0 and links > 0 and degree > 0 and diameter > 0", name="counts"),
    )

    spec: Mapped[str] = mapped_column(primary_key=True)
    family: Mapped[str]
    n: Mapped[int] = mapped_column(SmallInteger)
    k: Mapped[int | None] = mapped_column(SmallInteger)
    nodes: Mapped[int] = mapped_column(BigInteger)
    links: Mapped[int] = mapped_column(BigInteger)
    degree: Mapped[int] = mapped_column(SmallInteger)
    diameter: Mapped[int] = mapped_column(SmallInteger)


class Forest(Base):
    """An ingested forest; `Tree` holds its trees.

    ``root`` is a rank and ``height`` the greatest level of any tree.
    """

    __tablename__ = "forest"
    __table_args__ = (
        CheckConstraint("root >= 0 and trees > 0 and height > 0 and congestion > 0", name="counts"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    topology: Mapped[str] = mapped_column(ForeignKey("topology.spec"), index=True)
    construction: Mapped[str]
    arguments: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    root: Mapped[int] = mapped_column(BigInteger)
    root_label: Mapped[str]
    trees: Mapped[int] = mapped_column(SmallInteger)
    height: Mapped[int] = mapped_column(SmallInteger)
    congestion: Mapped[int] = mapped_column(SmallInteger)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Tree(Base):
    """One tree of a forest, numbered from 0: height in levels, leaves and size in nodes.

    ``parent_port`` holds one byte per node, in order of rank: the port towards the parent, and 0 at
    the root and at nodes outside the tree.
    """

    __tablename__ = "tree"
    __table_args__ = (
        CheckConstraint("number >= 0 and height > 0 and leaves > 0 and size > 1", name="counts"),
    )

    forest: Mapped[str] = mapped_column(
        ForeignKey("forest.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    height: Mapped[int] = mapped_column(SmallInteger)
    leaves: Mapped[int] = mapped_column(BigInteger)
    size: Mapped[int] = mapped_column(BigInteger)
    parent_port: Mapped[bytes]


class Schedule(Base):
    """An ingested schedule with the results of its simulation.

    ``transmissions`` counts units times links, ``largest_packet`` units, ``units`` distinct units.
    ``root`` is a rank; ``forest`` is null if the algorithm uses no forest.
    """

    __tablename__ = "schedule"
    __table_args__ = (
        _one_of("ports", PORTS),
        CheckConstraint(
            "steps > 0 and transmissions > 0 and largest_packet > 0 and units > 0", name="counts"
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    topology: Mapped[str] = mapped_column(ForeignKey("topology.spec"), index=True)
    forest: Mapped[str | None] = mapped_column(ForeignKey("forest.id"), index=True)
    collective: Mapped[str]
    algorithm: Mapped[str]
    ports: Mapped[str]
    arguments: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    root: Mapped[int] = mapped_column(BigInteger)
    symmetric: Mapped[bool]
    steps: Mapped[int] = mapped_column(Integer)
    transmissions: Mapped[int] = mapped_column(BigInteger)
    largest_packet: Mapped[int] = mapped_column(BigInteger)
    units: Mapped[int] = mapped_column(BigInteger)


class ScheduleStep(Base):
    """One step of a simulated schedule: links used, packets, units in the largest packet."""

    __tablename__ = "schedule_step"

    schedule: Mapped[str] = mapped_column(
        ForeignKey("schedule.id", ondelete="CASCADE"), primary_key=True
    )
    step: Mapped[int] = mapped_column(Integer, primary_key=True)
    links_used: Mapped[int] = mapped_column(BigInteger)
    packets: Mapped[int] = mapped_column(BigInteger)
    largest_packet: Mapped[int] = mapped_column(BigInteger)


class Materialization(Base):
    """The state of one artifact in the graph store: its load method, expected and found counts."""

    __tablename__ = "materialization"
    __table_args__ = (_one_of("kind", KINDS), _one_of("state", STATES), _one_of("method", METHODS))

    kind: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str]
    method: Mapped[str]
    expected_nodes: Mapped[int] = mapped_column(BigInteger)
    expected_relationships: Mapped[int] = mapped_column(BigInteger)
    found_nodes: Mapped[int | None] = mapped_column(BigInteger)
    found_relationships: Mapped[int | None] = mapped_column(BigInteger)
    expected_checksum: Mapped[str]
    found_checksum: Mapped[str | None]
    error: Mapped[str | None]
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    finished_at: Mapped[datetime | None]


class Experiment(Base):
    """A named set of runs.

    ``grid`` holds the grids of the experiment, or ``{}`` for a collection of single runs.
    ``points`` is the number of points in the grids; null without grids and before revision 0002.
    """

    __tablename__ = "experiment"

    id: Mapped[int] = mapped_column(Integer, Identity(), primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    grid: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    points: Mapped[int | None] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Run(Base):
    """One algorithm, executed and priced at one point of a grid.

    ``topology`` is a spec without a foreign key: a run needs no ingested topology. ``t_s`` is the
    time per packet and ``t_c`` the time per byte. ``segments`` is the number of pieces of each
    tree's share of the message, ``messages`` the number of unit messages (1 for an algorithm that
    takes segments). ``copies`` is the number of trees that carry each unit and ``base`` the
    construction given to the algorithm, or null. ``faults`` are written as in
    `starcast.simulator.Fault`, and ``seed`` is the random seed if they were drawn. ``missing``
    counts the (node, unit) pairs that the faults left undelivered. ``timings`` are in seconds.

    Points that differ only in message_bytes, t_s, t_c and seed share one execution: their runs have
    equal timings and equal ``started_at``. Do not add up timings over runs.
    """

    __tablename__ = "run"
    __table_args__ = (
        _one_of("ports", PORTS),
        _one_of("status", STATUSES),
        _rational("message_bytes"),
        _rational("t_s"),
        _rational("t_c"),
        CheckConstraint(
            "segments >= 1 and messages >= 1 and copies >= 1 and seed >= 0 and missing >= 0",
            name="counts",
        ),
        CheckConstraint("(status = 'failed') = (error is not null)", name="error"),
        UniqueConstraint(
            "experiment", "topology", "collective", "algorithm", "ports", "message_bytes",
            "messages", "t_s", "t_c", "segments", "copies", "base", "faults", "seed",
            name="uq_run_point", postgresql_nulls_not_distinct=True,
        ),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    experiment: Mapped[int] = mapped_column(ForeignKey("experiment.id", ondelete="CASCADE"))
    topology: Mapped[str]
    collective: Mapped[str]
    algorithm: Mapped[str]
    ports: Mapped[str]
    message_bytes: Mapped[Fraction]
    messages: Mapped[int] = mapped_column(Integer)
    t_s: Mapped[Fraction]
    t_c: Mapped[Fraction]
    message_bytes_value: Mapped[float | None] = _double("message_bytes")
    t_s_value: Mapped[float | None] = _double("t_s")
    t_c_value: Mapped[float | None] = _double("t_c")
    segments: Mapped[int] = mapped_column(Integer)
    copies: Mapped[int] = mapped_column(SmallInteger, server_default=text("1"))
    base: Mapped[str | None]
    faults: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    seed: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    missing: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    status: Mapped[str]
    error: Mapped[str | None]
    timings: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    provenance: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime]
    costs: Mapped[list["Cost"]] = relationship(
        order_by="Cost.kind", cascade="all, delete-orphan", passive_deletes=True, lazy="selectin"
    )


class Cost(Base):
    """The cost of a run by closed form, by simulation, or its lower bound.

    ``start_ups`` is the coefficient of t_s and ``bytes`` that of t_c; ``time`` is the sum of both
    terms, and for a lower bound the greater of the two. ``source`` names the paper and the number
    in it. A figure that the source does not give is null.
    """

    __tablename__ = "cost"
    __table_args__ = (
        _one_of("kind", COSTS),
        _rational("start_ups"),
        _rational("bytes"),
        _rational("time"),
    )

    run: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    steps: Mapped[int | None] = mapped_column(BigInteger)
    start_ups: Mapped[Fraction | None]
    transmissions: Mapped[int | None] = mapped_column(BigInteger)
    bytes: Mapped[Fraction | None]
    time: Mapped[Fraction]
    source: Mapped[str]
    bytes_value: Mapped[float | None] = _double("bytes")
    time_value: Mapped[float | None] = _double("time")


class StepProfile(Base):
    """One step of a simulated run: directed links used, packets, units in the largest packet."""

    __tablename__ = "step_profile"

    run: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(Integer, primary_key=True)
    links_used: Mapped[int] = mapped_column(BigInteger)
    packets: Mapped[int] = mapped_column(BigInteger)
    largest_packet: Mapped[int] = mapped_column(BigInteger)


class ClaimRun(Base):
    """A verification run: one stored pass over claims of the papers.

    Its verdicts are stored in the transaction that sets ``finished_at``. ``names`` are the
    requested claim ids and prefixes of ids (none for all claims); ``level`` is null if ``sizes``
    were given instead. ``fingerprint`` is the SHA-256 of the source code that decides the findings;
    evidence with the same fingerprint is reused. ``revision`` and ``dirty`` come from git and are
    null outside a checkout.
    """

    __tablename__ = "claim_run"
    __table_args__ = (
        _one_of("level", LEVELS),
        CheckConstraint("(level is null) = (sizes is not null)", name="sizes"),
        Index("ix_claim_run_fingerprint", "fingerprint"),
    )

    id: Mapped[int] = mapped_column(Integer, Identity(), primary_key=True)
    names: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    level: Mapped[str | None]
    sizes: Mapped[list[Any] | None] = mapped_column(JSONB(none_as_null=True))
    version: Mapped[str]
    revision: Mapped[str | None]
    dirty: Mapped[bool | None]
    fingerprint: Mapped[str]
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    finished_at: Mapped[datetime | None]


class ClaimEvidence(Base):
    """The evidence of one claim at one size, as ``starcast.claims`` serializes it.

    ``seconds`` is the time of the check; work shared by several claims is counted once, for the
    first claim that needed it.
    """

    __tablename__ = "claim_evidence"

    claim_run: Mapped[int] = mapped_column(
        ForeignKey("claim_run.id", ondelete="CASCADE"), primary_key=True
    )
    claim: Mapped[str] = mapped_column(primary_key=True)
    size: Mapped[str] = mapped_column(primary_key=True)
    evidence: Mapped[dict[str, Any]]
    seconds: Mapped[float]


class ClaimVerdict(Base):
    """The verdict on one claim in one verification run.

    ``counterexample`` is null unless the claim fails; ``subject`` is the id of the forest or
    schedule that the counterexample refers to, or empty; ``detail`` describes the findings.
    """

    __tablename__ = "claim_verdict"
    __table_args__ = (
        _one_of("verdict", VERDICTS),
        CheckConstraint("counterexample is null or verdict = 'fails'", name="counterexample"),
    )

    claim_run: Mapped[int] = mapped_column(
        ForeignKey("claim_run.id", ondelete="CASCADE"), primary_key=True
    )
    claim: Mapped[str] = mapped_column(primary_key=True)
    verdict: Mapped[str]
    sizes: Mapped[list[Any]]
    counterexample: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    detail: Mapped[str]
    subject: Mapped[str] = mapped_column(server_default=text("''"))
