"""The tables of PostgreSQL as typed SQLAlchemy models; the migrations create what stands here.

Two rules decide what a dropped row takes with it. Parts go with their whole: a forest's trees, an experiment's
runs, a run's costs. What is materialized in the graph store on its own (topology, forest, schedule) is dropped on
its own first: the database refuses to leave orphans there.

Figures that enter a comparison are exact. `Exact` keeps a `Fraction` as text; PostgreSQL computes the double beside
it (``time_value`` beside ``time``), for sorting and for SQL written by hand.
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

#: Names of constraints follow from what they constrain, so that a migration can name them.
NAMING = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "ix": "ix_%(table_name)s_%(column_0_name)s",
}

PORTS = ("all", "one")
#: In the order of building.
KINDS = ("topology", "forest", "schedule")
STATES = ("planned", "loading", "complete", "failed")
WAYS = ("bolt", "import")
STATUSES = ("complete", "failed")
COSTS = ("closed form", "simulated", "lower bound")
LEVELS = ("quick", "full", "deep")
VERDICTS = ("holds", "holds as a bound", "fails", "not checkable")


class Exact(TypeDecorator[Fraction]):
    """A rational number, kept as the text of a `Fraction`: ``1024``, ``23/3``."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Fraction | int | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Write it in lowest terms."""
        return None if value is None else str(Fraction(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Fraction | None:  # noqa: ARG002
        """Read it back."""
        return None if value is None else Fraction(value)


class Base(DeclarativeBase):
    """All tables."""

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
    return CheckConstraint(f"\"{column}\" ~ '^\\d+(/[1-9]\\d*)?$'", name=column)


def _double(column: str) -> Mapped[float | None]:
    """The double beside an exact column, written as PostgreSQL itself writes it: alembic compares the two."""
    parts = [f"split_part(\"{column}\", '/'::text, {part})" for part in (1, 2)]
    denominator = f"COALESCE(NULLIF({parts[1]}, ''::text), '1'::text)"
    return mapped_column(
        Double,
        Computed(
            f"({parts[0]})::double precision / ({denominator})::double precision", persisted=True
        ),
    )


class Store(Base):
    """This database's identity: one row. The graph store holds the same id, so another one's is noticed."""

    __tablename__ = "store"
    __table_args__ = (Index("ix_store_one_row", text("(true)"), unique=True),)

    id: Mapped[uuid.UUID] = mapped_column(
        primary_key=True, server_default=text("gen_random_uuid()")
    )
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Topology(Base):
    """A topology that was ingested: counts of nodes and of undirected links, degree and diameter in links."""

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
    """A forest that was ingested; its trees are in `Tree`. ``root`` is a rank, ``height`` the greatest level."""

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

    ``parent_port`` holds one byte a node, in order of rank: its port towards the parent, 0 at the root and where the
    node is not in the tree.
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
    """A schedule that was ingested and its simulation: steps, units x links sent, units in the largest packet.

    ``units`` is the number of distinct units; ``root`` a rank; ``forest`` is null where the algorithm uses none.
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
    """One step of a stored schedule's simulation: directed links in use, packets sent, units in the largest packet."""

    __tablename__ = "schedule_step"

    schedule: Mapped[str] = mapped_column(
        ForeignKey("schedule.id", ondelete="CASCADE"), primary_key=True
    )
    step: Mapped[int] = mapped_column(Integer, primary_key=True)
    links_used: Mapped[int] = mapped_column(BigInteger)
    packets: Mapped[int] = mapped_column(BigInteger)
    largest_packet: Mapped[int] = mapped_column(BigInteger)


class Materialization(Base):
    """What the graph store holds, or is to hold, of one topology, forest or schedule, and what was counted there."""

    __tablename__ = "materialization"
    __table_args__ = (_one_of("kind", KINDS), _one_of("state", STATES), _one_of("method", WAYS))

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
    """A named set of runs. ``grid`` holds the grids it was expanded from; ``{}`` where runs are collected one by one.

    ``points`` is how many runs the grids stand for; null where there are none, or where a starcast before 0002 made it.
    """

    __tablename__ = "experiment"

    id: Mapped[int] = mapped_column(Integer, Identity(), primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    grid: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    points: Mapped[int | None] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Run(Base):
    """One algorithm executed and priced at one point of a grid.

    ``m`` is in bytes; ``T_s`` in units of time a packet, ``T_c`` a byte; ``p`` counts the pieces that a tree's share of
    the message is cut into; ``M`` the unit messages of the schedule (1 where the algorithm takes segments). ``copies`` are
    the trees that carry each unit, ``tree`` the construction that the algorithm was given, null where it takes none.
    ``faults`` are those that were there, as `starcast.simulator.Fault` writes them, drawn with ``seed`` if they were drawn;
    ``missing`` counts the (node, unit) pairs that they cost in the end. ``timings`` are seconds per phase. ``topology`` is a
    spec and no foreign key: a run needs nothing that was ingested.

    Points that differ in m, T_s, T_c and seed alone share a schedule, which is executed once: their runs hold the same
    seconds to build, verify and simulate, and the same ``started_at``. Sum no timings over runs.
    """

    __tablename__ = "run"
    __table_args__ = (
        _one_of("ports", PORTS),
        _one_of("status", STATUSES),
        _rational("m"),
        _rational("T_s"),
        _rational("T_c"),
        CheckConstraint('p >= 1 and "M" >= 1 and copies >= 1 and seed >= 0 and missing >= 0', name="counts"),
        CheckConstraint("(status = 'failed') = (error is not null)", name="error"),
        UniqueConstraint(
            "experiment", "topology", "collective", "algorithm", "ports", "m", "M", "T_s", "T_c", "p", "copies",
            "tree", "faults", "seed", name="uq_run_point", postgresql_nulls_not_distinct=True,
        ),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    experiment: Mapped[int] = mapped_column(ForeignKey("experiment.id", ondelete="CASCADE"))
    topology: Mapped[str]
    collective: Mapped[str]
    algorithm: Mapped[str]
    ports: Mapped[str]
    m: Mapped[Fraction]
    M: Mapped[int] = mapped_column(Integer)
    T_s: Mapped[Fraction]
    T_c: Mapped[Fraction]
    m_value: Mapped[float | None] = _double("m")
    T_s_value: Mapped[float | None] = _double("T_s")
    T_c_value: Mapped[float | None] = _double("T_c")
    p: Mapped[int] = mapped_column(Integer)
    copies: Mapped[int] = mapped_column(SmallInteger, server_default=text("1"))
    tree: Mapped[str | None]
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
    """What a run costs by one way of counting; null where that way does not say.

    ``start_ups`` is the coefficient of T_s and ``bytes`` that of T_c; ``time`` is in their unit: the sum of both terms,
    of a lower bound the greater one. ``source`` is the paper and its number.
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
    """One step of a run's simulation: directed links in use, packets sent, units in the largest packet."""

    __tablename__ = "step_profile"

    run: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(Integer, primary_key=True)
    links_used: Mapped[int] = mapped_column(BigInteger)
    packets: Mapped[int] = mapped_column(BigInteger)
    largest_packet: Mapped[int] = mapped_column(BigInteger)


class Ledger(Base):
    """One look at statements of the papers. It is finished with its verdicts in one transaction; before, it has none.

    ``names`` are the ids and beginnings of ids that were asked about, none for all; ``level`` is null where ``sizes`` were
    asked for instead. ``fingerprint`` is the SHA-256 of the sources that decide what is found: evidence is used again where
    it is the same. ``revision`` and ``dirty`` are git's, null outside a checkout.
    """

    __tablename__ = "ledger"
    __table_args__ = (
        _one_of("level", LEVELS),
        CheckConstraint("(level is null) = (sizes is not null)", name="sizes"),
        Index("ix_ledger_fingerprint", "fingerprint"),
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
    """What a check found about one statement at one size: ``starcast.claims.plain`` writes and reads it.

    ``seconds`` is how long it took; what several statements share is counted where it was first needed.
    """

    __tablename__ = "claim_evidence"

    ledger: Mapped[int] = mapped_column(
        ForeignKey("ledger.id", ondelete="CASCADE"), primary_key=True
    )
    claim: Mapped[str] = mapped_column(primary_key=True)
    size: Mapped[str] = mapped_column(primary_key=True)
    evidence: Mapped[dict[str, Any]]
    seconds: Mapped[float]


class ClaimVerdict(Base):
    """What became of one statement in one ledger.

    ``counterexample`` is null unless it fails; ``subject`` is the id of the forest or schedule that the counterexample speaks
    of, empty without one; ``detail`` is what was found, in sentences.
    """

    __tablename__ = "claim_verdict"
    __table_args__ = (
        _one_of("verdict", VERDICTS),
        CheckConstraint("counterexample is null or verdict = 'fails'", name="counterexample"),
    )

    ledger: Mapped[int] = mapped_column(
        ForeignKey("ledger.id", ondelete="CASCADE"), primary_key=True
    )
    claim: Mapped[str] = mapped_column(primary_key=True)
    verdict: Mapped[str]
    sizes: Mapped[list[Any]]
    counterexample: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    detail: Mapped[str]
    subject: Mapped[str] = mapped_column(server_default=text("''"))
