"""Load methods: how rows get into Neo4j, their estimates and limits, and the choice between them.

Over Bolt, rows are written to a running server, about 40 000 relationships per second. An offline
import writes files and fills a new store from them, ten times as fast. But the new store replaces
the old one, so all stored artifacts have to be imported again, and the server, which must be the
embedded one, has to be restarted. So small ingests, and all ingests into other servers, use Bolt;
large ingests use the import.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Self

from starcast.ingest.artifacts import Artifact
from starcast.stores.graph.bulk_files import node_bytes, row_bytes
from starcast.support.errors import InputError, LimitError
from starcast.support.table import Table
from starcast.support.text import format_duration
from starcast.support.vocabulary import LoadMethod

#: Rows written per second over Bolt on a warm server (docs/decisions/0002-keys-and-labels.md), and
#: rows compared per second by reading them in pages.
NODES_PER_SECOND = 30_000
RELATIONSHIPS_PER_SECOND = 40_000
COMPARED_PER_SECOND = 400_000
#: Costs of a server that has just started: seconds to plan its first statements, additional seconds
#: per row until Java has compiled the code that writes rows, and the number of rows written until
#: then. Measured with S7 and its trees (docs/engines.md).
FIRST_STATEMENTS_SECONDS = 2
COLD_SECONDS_PER_ROW = 65e-6
COLD_ROWS = 100_000
#: Nodes and relationships deleted per second over Bolt, measured with S8, S9 and S10.
DELETED_PER_SECOND = 70_000

#: Fixed seconds of an import on two idle processors, for starting the tool and restarting Neo4j.
RESTART_SECONDS = 20
#: Rows per second of an import, including building, importing, indexing and comparing, measured
#: with S10 and S9: ``python -m benchmarks offline``.
IMPORTED_NODES_PER_SECOND = 130_000
IMPORTED_RELATIONSHIPS_PER_SECOND = 330_000

#: Bytes in Neo4j's store files, measured on S7 and S8. Three indexes take most of a node's bytes.
#: Relationships of schedules take more, because the long id of their schedule is stored outside of
#: their fixed-size records.
BYTES_PER_NODE = 250
BYTES_PER_RELATIONSHIP = {"topology": 120, "forest": 120, "schedule": 250}
#: Number of digits assumed for ranks and units in import files. Larger numbers do not occur within
#: `IMPORT_ROW_LIMIT`.
_WIDTH = 8

#: Maximum number of rows over Bolt. S10 without forests fits and takes about ten minutes. Rows are
#: sorted in memory, at about 100 bytes per row.
BOLT_ROW_LIMIT = 25_000_000
#: Maximum number of rows by import, including those already stored. S10 with the trees of the
#: construction ``multiple`` fits, and all processes together then need less than 6 GB of memory.
IMPORT_ROW_LIMIT = 60_000_000

_REDUCE = (
    "choose a smaller topology, fewer trees or schedules, or fewer segments or messages; "
    "'--dry-run' shows the size of each artifact, and 'starcast run once' stores the results and "
    "steps of a schedule without its rows"
)


@dataclass(frozen=True)
class Estimate:
    """Estimated size of artifacts.

    Attributes:
        nodes: nodes in the graph.
        relationships: relationships in the graph.
        bytes: bytes in the graph's store.
        import_bytes: temporary disk space of an import, in bytes: its files, and the new store
            next to the old one.
    """

    nodes: int
    relationships: int
    bytes: int
    import_bytes: int

    @classmethod
    def of(cls, artifacts: Iterable[Artifact]) -> Self:
        """Return the estimated total size of several artifacts."""
        listed = list(artifacts)
        nodes = sum(artifact.nodes for artifact in listed)
        relationships = sum(artifact.relationships for artifact in listed)
        stored = nodes * BYTES_PER_NODE + sum(
            artifact.relationships * BYTES_PER_RELATIONSHIP[artifact.kind] for artifact in listed
        )
        return cls(nodes, relationships, stored, stored + sum(map(_file_bytes, listed)))

    def __str__(self) -> str:
        return f"{self.nodes:,} nodes and {self.relationships:,} relationships"

    @property
    def rows(self) -> int:
        """Total number of nodes and relationships."""
        return self.nodes + self.relationships

    @property
    def seconds(self) -> float:
        """Estimated seconds to write and compare over Bolt on a warm server, without building."""
        writing = self.nodes / NODES_PER_SECOND + self.relationships / RELATIONSHIPS_PER_SECOND
        return writing + self.rows / COMPARED_PER_SECOND

    @property
    def cold_seconds(self) -> float:
        """Estimated seconds to write and compare over Bolt on a server that has just started."""
        cold_rows = min(self.rows, COLD_ROWS)
        return self.seconds + FIRST_STATEMENTS_SECONDS + cold_rows * COLD_SECONDS_PER_ROW

    @property
    def deletion_seconds(self) -> float:
        """Estimated seconds to delete over Bolt."""
        return self.rows / DELETED_PER_SECOND

    @property
    def import_seconds(self) -> float:
        """Estimated seconds for an import into an empty store."""
        nodes = self.nodes / IMPORTED_NODES_PER_SECOND
        return RESTART_SECONDS + nodes + self.relationships / IMPORTED_RELATIONSHIPS_PER_SECOND


def _file_bytes(artifact: Artifact) -> int:
    nodes = 0
    if artifact.nodes:
        # If the topology's plug-in is not loaded, the size does not matter: the import will fail.
        with suppress(InputError):
            nodes = artifact.nodes * node_bytes(artifact.topology, _WIDTH)
    return nodes + artifact.relationships * row_bytes(artifact.kind, artifact.id, _WIDTH)


def list_estimates(artifacts: Iterable[Artifact]) -> Table:
    """Return a table of the estimated cost of each artifact, with the total in the last row."""
    listed = list(artifacts)
    parts = [(each.kind, each.id, Estimate.of([each])) for each in listed]
    rows = [
        {
            "kind": kind,
            "id": artifact_id,
            "nodes": estimate.nodes,
            "relationships": estimate.relationships,
            "megabytes": estimate.bytes / 1e6,
            "bolt_seconds": estimate.seconds,
            "bolt_cold_seconds": estimate.cold_seconds,
            "import_seconds": estimate.import_seconds,
            "import_megabytes": estimate.import_bytes / 1e6,
        }
        for kind, artifact_id, estimate in [*parts, ("all", "", Estimate.of(listed))]
    ]
    return Table.of(rows, rows[0])


class ChosenMethod(NamedTuple):
    """A load method, ``bolt`` or ``import``, and the reason for it in one sentence."""

    method: LoadMethod
    reason: str


def choose_method(
    requested: LoadMethod, new: Iterable[Artifact], stored: Iterable[Artifact], embedded: bool
) -> ChosenMethod:
    """Choose the load method for new artifacts.

    Args:
        requested: the method requested by the user.
        new: the artifacts to store.
        stored: the artifacts that are already stored.
        embedded: whether the graph store is the embedded Neo4j, which may be stopped and replaced.

    Raises:
        InputError: an import is requested for a server that is not the embedded one.
        LimitError: the artifacts exceed the limit of the method.
    """
    listed = list(new)
    adding = Estimate.of(listed)
    total = Estimate.of([*listed, *stored])
    duration = format_duration(total.import_seconds)
    # An import also rewrites everything stored, while Bolt writes only the new rows.
    if _by_import(requested, embedded, total.import_seconds < adding.seconds):
        _check_import_limit(total)
        reason = (
            f"by offline import: all {total.rows:,} rows in about {duration}, with "
            f"{total.import_bytes / 1e9:.1f} GB of temporary disk space; {adding.rows:,} rows over "
            f"Bolt would take {format_duration(adding.seconds)}"
        )
        return ChosenMethod(LoadMethod.IMPORT, reason)
    if adding.rows > BOLT_ROW_LIMIT:
        alternative = "remove --method bolt; or " if embedded else ""
        raise LimitError(
            f"{adding} exceed the limit of {BOLT_ROW_LIMIT:,} rows for loading over Bolt; they "
            f"would need {adding.bytes / 1e9:.1f} GB and, on a warm server, "
            f"{format_duration(adding.seconds)} of writing and comparing",
            hint=f"{alternative}{_REDUCE}",
        )
    reason = (
        f"over Bolt: {adding.rows:,} rows in about {format_duration(adding.seconds)}, or "
        f"{format_duration(adding.cold_seconds)} if Neo4j has just started"
    )
    if embedded:
        reason += f"; an offline import of all {total.rows:,} rows would take {duration}"
    return ChosenMethod(LoadMethod.BOLT, reason)


def choose_deletion(
    requested: LoadMethod,
    dropped: Iterable[Artifact],
    remaining: Iterable[Artifact],
    embedded: bool,
) -> ChosenMethod:
    """Choose how to drop artifacts: delete them over Bolt, or import all others into a new store.

    Args:
        requested: the method requested by the user.
        dropped: the artifacts to drop.
        remaining: the artifacts that remain.
        embedded: whether the graph store is the embedded Neo4j, which may be stopped and replaced.

    Raises:
        InputError: an import is requested for a server that is not the embedded one.
        LimitError: an import is requested, and the remaining artifacts exceed its limit.
    """
    dropping, total = Estimate.of(dropped), Estimate.of(remaining)
    deletion = f"{dropping.rows:,} rows over Bolt"
    deletion_time = format_duration(dropping.deletion_seconds)
    importing = f"an offline import of the {total.rows:,} rows that remain"
    import_time = format_duration(total.import_seconds)
    is_faster = total.import_seconds < dropping.deletion_seconds
    if _by_import(requested, embedded, is_faster and total.rows <= IMPORT_ROW_LIMIT):
        _check_import_limit(total)
        reason = (
            f"by {importing}, in about {import_time}, with {total.import_bytes / 1e9:.1f} GB of "
            f"temporary disk space; deleting {deletion} would take {deletion_time}"
        )
        return ChosenMethod(LoadMethod.IMPORT, reason)
    reason = f"deleting {deletion} in about {deletion_time}"
    if embedded:
        reason += f"; {importing} would take {import_time}"
    return ChosenMethod(LoadMethod.BOLT, reason)


def _by_import(requested: LoadMethod, embedded: bool, is_better: bool) -> bool:
    """Return whether to import: if it is requested, or if it is possible and better.

    Raises:
        InputError: an import is requested for a server that is not the embedded one.
    """
    if requested is LoadMethod.IMPORT and not embedded:
        raise InputError(
            "an offline import stops Neo4j and replaces its store, which starcast does only with "
            "the embedded Neo4j",
            hint="remove --method to load over Bolt",
        )
    is_chosen = requested is LoadMethod.AUTO and embedded and is_better
    return is_chosen or requested is LoadMethod.IMPORT


def _check_import_limit(size: Estimate) -> None:
    if size.rows > IMPORT_ROW_LIMIT:
        raise LimitError(
            f"{size}, including all stored artifacts, exceed the limit of {IMPORT_ROW_LIMIT:,} "
            f"rows for an offline import; they would need {size.import_bytes / 1e9:.1f} GB of "
            f"temporary disk space and {format_duration(size.import_seconds)}",
            hint=_REDUCE,
        )
