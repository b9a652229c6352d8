"""The table of records; `starcast.database.models` is the module of the others."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Integer, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from starcast.database.columns import SPEC, Base, json_type, matches, one_of
from starcast.vocabulary import VERIFICATIONS


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
    topology: Mapped[str] = mapped_column(comment="spec of the topology, perhaps not ingested")
    arguments: Mapped[dict[str, Any]] = mapped_column(
        server_default=text("'{}'::jsonb"), comment="arguments of the problem, by name"
    )
    value: Mapped[int] = mapped_column(Integer, comment="value of the witness")
    bound: Mapped[int] = mapped_column(Integer, comment="no object has a better value")
    optimal: Mapped[bool] = mapped_column(comment="whether value and bound agree")
    reason: Mapped[str] = mapped_column(comment="why the bound holds")
    proof: Mapped[dict[str, Any] | None] = mapped_column(
        JSONB(none_as_null=True),
        comment="evidence for the bound with SHA-256 and checker; null if it follows from theory",
    )
    verification: Mapped[str] = mapped_column(
        comment="what was checked of the bound: verified, not made again or not checked"
    )
    witness: Mapped[bytes] = mapped_column(comment="arrays of the object, as an npz file")
    solver: Mapped[str] = mapped_column(comment="solver with its version, or empty")
    version: Mapped[str] = mapped_column(comment="version of starcast")
    seconds: Mapped[float] = mapped_column(comment="time of all its searches")
    command: Mapped[str] = mapped_column(comment="command that searches again")
    tried: Mapped[list[Any]] = mapped_column(
        server_default=text("'[]'::jsonb"), comment="searches: method, target, result, seconds"
    )
    stored_at: Mapped[datetime] = mapped_column(
        server_default=func.now(), comment="when it was stored"
    )
