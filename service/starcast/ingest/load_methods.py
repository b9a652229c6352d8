"""The two ways into the graph, what each takes, and which one an ingest goes.

Over Bolt, rows go into a server that goes on answering, about 40 000 relationships a second. The offline import writes files
and fills a fresh store from them, ten times as fast; but everything else that is stored has to come along, the server has to
start again, and it has to be ours. So small ingests go over Bolt, large ones by import, and foreign servers get files.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self

from starcast.choices import LoadMethod
from starcast.errors import InputError, LimitError
from starcast.graph.bulk import node_bytes, row_bytes
from starcast.topologies import topology

#: What a Bolt load reaches on a warm server (docs/decisions/0002-keys-and-labels.md), and how fast it is read back in pages.
NODES_A_SECOND = 30_000
RELATIONSHIPS_A_SECOND = 40_000
COMPARED_A_SECOND = 400_000

#: What an offline import takes however small it is, both processors idle: the tool's start, a stop and a start of Neo4j.
RESTART_SECONDS = 20
#: What it reaches from files to comparison, with building, importing and indexing: `python -m benchmarks offline`, S10 and S9.
IMPORTED_NODES_A_SECOND = 130_000
IMPORTED_RELATIONSHIPS_A_SECOND = 330_000

#: What a row takes in Neo4j's store files, measured on S7 and S8. Most of a node are its three indexes; a schedule's id is too
#: long to lie within the relationship's own record.
BYTES_A_NODE = 250
BYTES_A_RELATIONSHIP = {"topology": 120, "forest": 120, "schedule": 250}
#: Digits of the largest rank or unit in the files of an import that keeps within the limit.
_WIDTH = 8

#: Most nodes and relationships over Bolt: ten million are about four minutes of writing, which a user sits through, and S9
#: with the multiple trees fits; S10 alone has twenty. Its rows are sorted in memory too, at about 100 bytes each.
MOST_OVER_BOLT = 10_000_000
#: Most by import, with what is there already: S10 with the multiple trees, which keeps all processes within 6 GB, fits.
MOST_BY_IMPORT = 60_000_000

_LESS = (
    "take a smaller topology, fewer trees or schedules, or fewer segments or messages; '--dry-run' shows what each takes, and "
    "'starcast run once' keeps a schedule's figures and steps without its rows"
)


class Sized(Protocol):
    """What an estimate needs to know of a thing: its name, and the nodes and relationships that it adds to the graph."""

    @property
    def kind(self) -> str:
        """``topology``, ``forest`` or ``schedule``."""

    @property
    def key(self) -> str:
        """Its name, which begins with that of its topology."""

    @property
    def nodes(self) -> int:
        """Nodes it adds."""

    @property
    def relationships(self) -> int:
        """Relationships it adds."""


@dataclass(frozen=True)
class Estimate:
    """What things take: rows in the graph, bytes of the graph's store, and of the files of an import."""

    nodes: int
    relationships: int
    bytes: int
    filed_bytes: int

    @classmethod
    def of(cls, things: Iterable[Sized]) -> Self:
        """What these things take together."""
        listed = list(things)
        nodes, relationships = (
            sum(one.nodes for one in listed),
            sum(one.relationships for one in listed),
        )
        stored = sum(one.relationships * BYTES_A_RELATIONSHIP[one.kind] for one in listed)
        return cls(nodes, relationships, stored + nodes * BYTES_A_NODE, sum(map(_filed, listed)))

    @property
    def rows(self) -> int:
        """Nodes and relationships."""
        return self.nodes + self.relationships

    @property
    def seconds(self) -> float:
        """Over Bolt on a warm server, writing and comparing; building and proving come on top."""
        writing = self.nodes / NODES_A_SECOND + self.relationships / RELATIONSHIPS_A_SECOND
        return writing + self.rows / COMPARED_A_SECOND

    @property
    def import_seconds(self) -> float:
        """By import into an empty store."""
        rows = (
            self.nodes / IMPORTED_NODES_A_SECOND
            + self.relationships / IMPORTED_RELATIONSHIPS_A_SECOND
        )
        return RESTART_SECONDS + rows

    @property
    def import_bytes(self) -> int:
        """On the disk at once while an import runs: its files, and the fresh store beside the old one."""
        return self.bytes + self.filed_bytes


def _filed(one: Sized) -> int:
    """Bytes of a thing in the files of an import."""
    nodes = one.nodes * node_bytes(topology(one.key), _WIDTH) if one.nodes else 0
    return nodes + one.relationships * row_bytes(one.kind, one.key, _WIDTH)


@dataclass(frozen=True)
class Choice:
    """The way that an ingest goes, and why, in one sentence; ``everything`` is what an import takes: the old and the new."""

    way: LoadMethod
    reason: str
    everything: Estimate


def choose(
    asked: LoadMethod, new: Iterable[Sized], stored: Iterable[Sized], embedded: bool
) -> Choice:
    """The way in for new things.

    Args:
        asked: what the user wants.
        new: what is to be stored.
        stored: what is there already.
        embedded: whether the graph store is our own, which may be stopped and replaced.

    Raises:
        InputError: an import was asked for into a server that is not ours.
        LimitError: it is too much for the way; nothing has been built.
    """
    listed = list(new)
    adding, everything = Estimate.of(listed), Estimate.of([*listed, *stored])
    if asked is LoadMethod.IMPORT and not embedded:
        raise InputError(
            "an offline import replaces the store of a Neo4j that is stopped meanwhile, and this server is not starcast's own",
            hint="'starcast export' writes the files for it and says how to import them; or leave out --method",
        )
    by_import = asked is LoadMethod.IMPORT or (
        asked is LoadMethod.AUTO and embedded and everything.import_seconds < adding.seconds
    )
    excess = (
        too_much(everything, LoadMethod.IMPORT, embedded)
        if by_import
        else too_much(adding, LoadMethod.BOLT, embedded)
    )
    if excess is not None:
        raise excess
    return (
        Choice(LoadMethod.IMPORT, _why_import(adding, everything), everything)
        if by_import
        else _bolt(adding, everything, embedded)
    )


def too_much(size: Estimate, way: LoadMethod, embedded: bool) -> LimitError | None:
    """The error that this is too much for a way, None where it is not. An import takes the old and the new."""
    if way is LoadMethod.BOLT and size.rows > MOST_OVER_BOLT:
        hint = (
            "leave out --method bolt; or "
            if embedded
            else "'starcast export' writes files to import into that server; or "
        )
        return LimitError(
            f"{_much(size)} are {size.bytes / 1e9:.1f} GB and {duration(size.seconds)} of writing and comparing over Bolt, on "
            f"a warm server; the limit is {MOST_OVER_BOLT:,} rows",
            hint=hint + _LESS,
        )
    if way is LoadMethod.IMPORT and size.rows > MOST_BY_IMPORT:
        return LimitError(
            f"{_much(size)} are {size.import_bytes / 1e9:.1f} GB on the disk meanwhile and {duration(size.import_seconds)} by "
            f"offline import; the limit is {MOST_BY_IMPORT:,} rows, with what is stored already",
            hint=_LESS,
        )
    return None


def _bolt(adding: Estimate, everything: Estimate, embedded: bool) -> Choice:
    said = f"over Bolt: {adding.rows:,} rows in about {duration(adding.seconds)}"
    if embedded:
        said += f", where importing all {everything.rows:,} offline takes {duration(everything.import_seconds)}"
    return Choice(LoadMethod.BOLT, said, everything)


def _why_import(adding: Estimate, everything: Estimate) -> str:
    return (
        f"by offline import: all {everything.rows:,} rows in about {duration(everything.import_seconds)}, and "
        f"{everything.import_bytes / 1e9:.1f} GB of disk meanwhile; {adding.rows:,} over Bolt take {duration(adding.seconds)}"
    )


def _much(size: Estimate) -> str:
    return f"{size.nodes:,} nodes and {size.relationships:,} relationships"


def duration(seconds: float) -> str:
    """Seconds in words: 12 s, 4 min, 3 h."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
