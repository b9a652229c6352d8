"""The methods of a lab for topologies, forests and schedules in both stores."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from starcast.comparison.listing import list_profile
from starcast.database import repository
from starcast.errors import InputError
from starcast.graph.audit import list_problems
from starcast.ingest import IngestRequest, Summary, drop, ingest, parse_request
from starcast.ingest.artifacts import artifact_from_id
from starcast.ingest.export_files import Export, export
from starcast.ingest.ingestion import RebuildRequest, rebuild
from starcast.ingest.listing import check_artifact, columns, describe_artifact, find, find_kind
from starcast.ingest.listing import list_artifacts as list_rows
from starcast.ingest.load_methods import list_estimates
from starcast.ingest.loading import Loaded
from starcast.ingest.offline import adopt
from starcast.ingest.row_comparison import Depth
from starcast.ingest.stores import lock_stores
from starcast.ingest.verification import verify
from starcast.lab.choices import choose
from starcast.lab.connection import Connection
from starcast.support.table import Row, Table
from starcast.topologies import Topology, as_topology
from starcast.trees import Forest
from starcast.trees.spec_syntax import normalize_id
from starcast.vocabulary import LoadMethod

if TYPE_CHECKING:
    from starcast.ingest.artifacts import ForestArtifact

#: Constructions, ids of forests, and forests; a single one needs no list.
Trees = str | Forest | Iterable[str | Forest]
#: Algorithms; a single one needs no list.
Schedules = str | Iterable[str]


class IngestOptions(TypedDict, total=False):
    """Options of the schedules and forests of an ingest.

    Attributes:
        root: label or rank of the root; by default the identity.
        ports: port model of the schedules: ``all``, ``one``, ``both``, or ``default``, the default
            of each algorithm.
        segments: segments per tree, for algorithms that segment the message.
        messages: unit messages, for algorithms that send unit messages.
    """

    root: int | str
    ports: str
    segments: int | None
    messages: int | None


class Artifacts(Connection):
    """What is stored: ingest, list, show, verify, rebuild, drop and export it."""

    def ingest(
        self,
        topology: str | Topology,
        trees: Trees = (),
        schedules: Schedules = (),
        *,
        method: LoadMethod | str = LoadMethod.AUTO,
        wait: bool = False,
        **options: Unpack[IngestOptions],
    ) -> Summary:
        """Build a topology with forests and schedules, verify them, and write both stores.

        What is already stored is not built again. An interrupted ingest is completed by the next.

        Args:
            topology: a topology or its spec, such as ``S5``.
            trees: constructions, such as ``multiple``, ids of forests, such as
                ``S5:multiple:12345``, and `Forest` objects, which are stored under their own ids.
            schedules: algorithms, such as ``multiple``, ``allgather:necklace``, ``broadcast:all``
                or ``all``. Their forests are stored too.
            method: ``bolt``, ``import`` (offline, embedded Neo4j only), or ``auto``, the faster.
            wait: wait for another ingest or drop instead of failing.
            options: `IngestOptions`.

        Returns:
            The created artifacts, and the ids of those that were stored before.

        Raises:
            InputError: a name or an argument is wrong, or a forest is on another topology.
            RejectedError: a verification failed; that artifact is not stored. Or the id of a forest
                is that of other trees; nothing was written.
            BusyError: another process is changing the stores.
            LimitError: the request exceeds the limits or the disk; nothing was written.
            UnavailableError: a server is not running.

        Example:
            >>> mine = starcast.Forest("S5", parent_ports, construction="mine")
            >>> lab.ingest("S5", trees=["multiple", mine], schedules=["broadcast:multiple"])
            <Summary: created 4: 1,796 rows in 0.4 s, 5,000 rows/s including verification>
        """
        request = self._request(topology, trees, schedules, options)
        for reason in request.selection.skipped:
            self.reporter.say(f"omitted from 'all': {reason}")
        with self._stores() as stores:
            return ingest(stores, request, wait, self.reporter, method=_load_method(method))

    def estimate(
        self,
        topology: str | Topology,
        trees: Trees = (),
        schedules: Schedules = (),
        **options: Unpack[IngestOptions],
    ) -> Table:
        """Return the estimated size and duration of an ingest; nothing is built or stored.

        Args:
            topology: as in `ingest`, as are all others.
            trees: constructions, ids and forests.
            schedules: algorithms.
            options: `IngestOptions`.

        Raises:
            InputError: as in `ingest`.
        """
        request = self._request(topology, trees, schedules, options)
        return list_estimates(request.sizes())

    def _request(
        self,
        topology: str | Topology,
        trees: Trees,
        schedules: Schedules,
        options: IngestOptions,
    ) -> IngestRequest:
        asked = [trees] if isinstance(trees, str | Forest) else list(trees)
        algorithms = [schedules] if isinstance(schedules, str) else list(schedules)
        _check_types("trees", asked, (str, Forest), "a construction, an id or a Forest")
        _check_types("schedules", algorithms, (str,), "an algorithm")
        texts = [each for each in asked if isinstance(each, str)]
        forests = [each for each in asked if isinstance(each, Forest)]
        forests += [self._forest_of(each) for each in texts if _is_id(each)]
        names = [each for each in texts if not _is_id(each)]
        spec = as_topology(topology).spec
        return parse_request(spec, names, algorithms, forests=forests, **options)

    def _forest_of(self, forest_id: str) -> Forest:
        """Return the forest of an id, which need not be stored."""
        with self._session() as session:
            artifact = artifact_from_id(session, "forest", normalize_id(forest_id))
        return cast("ForestArtifact", artifact).forest

    def drop(
        self,
        artifact_id: str,
        *,
        cascade: bool = False,
        wait: bool = False,
        method: LoadMethod | str = LoadMethod.AUTO,
    ) -> list[str]:
        """Drop a stored topology, forest or schedule from both stores.

        Args:
            artifact_id: its id.
            cascade: also drop the artifacts that depend on it.
            wait: wait for another ingest or drop instead of failing.
            method: ``bolt``, ``import`` or ``auto``; see `starcast.ingest.drop`.

        Returns:
            The ids of the dropped artifacts.

        Raises:
            NotFoundError: no such artifact is stored.
            RejectedError: other artifacts depend on it, and ``cascade`` is False.
            BusyError: another process is changing the stores.
        """
        name = normalize_id(artifact_id)
        with self._session() as session:
            kind = find_kind(session, name)
        with self._stores() as stores:
            return drop(stores, kind, name, cascade, wait, self.reporter, _load_method(method))

    def verify(
        self,
        *ids: str,
        sample: int | None = None,
        all_rows: bool = False,
        seed: int | None = None,
    ) -> Table:
        """Compare the graph in Neo4j with newly built artifacts, as ``graph verify`` does.

        Args:
            ids: artifacts, each with its dependents; by default everything.
            sample: compare only so many random nodes of each topology.
            all_rows: compare all rows.
            seed: random seed for the sample; by default random, and named in the note.

        Returns:
            The differences, without rows if the graph is correct.

        Raises:
            InputError: the options cannot be combined.
            NotFoundError: no artifact with such an id is stored.
        """
        depth = Depth.choose(sample, all_rows=all_rows, seed=seed)
        with self._stores() as stores:
            problems = list_problems(verify(stores, ids, depth, self.reporter))
        correct = "" if problems.rows else "the graph matches the generators"
        drawn = "" if sample is None else f"{sample:,} nodes drawn with seed {depth.seed}"
        note = "; ".join(filter(None, (correct, drawn)))
        return Table(problems.columns, problems.rows, note)

    def rebuild(
        self,
        *ids: str,
        method: LoadMethod | str = LoadMethod.AUTO,
        discard_foreign: bool = False,
        wait: bool = False,
    ) -> list[Loaded]:
        """Rebuild the graph from PostgreSQL, and return what was recreated.

        Args:
            ids: artifacts, each with its dependents; by default everything.
            method: ``bolt``, ``import`` or ``auto``.
            discard_foreign: delete data of other applications where necessary.
            wait: wait for another process instead of failing.

        Raises:
            NotFoundError, RejectedError, InputError, LimitError, BusyError: see
                `starcast.ingest.ingestion.rebuild`.
        """
        order = RebuildRequest(ids, _load_method(method), discard_foreign, wait)
        with self._stores() as stores:
            return rebuild(stores, order, self.reporter)

    def adopt(self, *, wait: bool = False) -> list[str]:
        """Verify the data of an offline import into your own Neo4j, and mark them complete.

        Returns:
            The ids of the adopted artifacts.

        Raises:
            RejectedError: an artifact differs from what its generator builds.
            BusyError: another process is changing the stores, and ``wait`` is False.
        """
        with (
            self._stores() as opened,
            lock_stores(opened, wait, self.reporter, "adopting an import") as stores,
        ):
            return [artifact.id for artifact in adopt(stores, self.reporter)]

    def export_files(
        self,
        folder: str | Path,
        topology: str | Topology | None = None,
        trees: Trees = (),
        schedules: Schedules = (),
        **options: Unpack[IngestOptions],
    ) -> Export:
        """Write files for an offline import of what is stored into your own Neo4j server.

        Args:
            folder: a new or empty folder.
            topology: a topology to add to what is stored; by default none.
            trees: constructions, ids and forests, as in `ingest`.
            schedules: algorithms, as in `ingest`.
            options: `IngestOptions`.

        Returns:
            The files, the ids of their artifacts, and a guide to importing them.

        Raises:
            InputError: a name is wrong, or the folder is not empty.
            LimitError: the disk is too small.
        """
        request = None
        if topology is not None:
            request = self._request(topology, trees, schedules, options)
        database = self.settings.neo4j_database
        return export(self.engine, Path(folder), request, database, self.reporter)

    def topologies(self) -> Table:
        """Return the stored topologies and their states."""
        return self._list("topology", None)

    def forests(self, topology: str | Topology | None = None) -> Table:
        """Return the stored forests and their states, optionally those on one topology."""
        return self._list("forest", topology)

    def schedules(self, topology: str | Topology | None = None) -> Table:
        """Return the stored schedules and their states, optionally those on one topology."""
        return self._list("schedule", topology)

    def _list(self, kind: str, topology: str | Topology | None) -> Table:
        spec = None if topology is None else as_topology(topology).spec
        with self._session() as session:
            rows = list_rows(session, kind, spec)
        has_errors = any(row["error"] for row in rows)
        return Table.of(rows, [name for name in columns(kind) if name != "error" or has_errors])

    def show(self, artifact_id: str, *, verify: bool = False) -> Row:
        """Return the properties of a stored topology, forest or schedule, by name.

        Args:
            artifact_id: its id.
            verify: recompute counts and checksums in Neo4j and compare them first.

        Raises:
            NotFoundError: no such artifact is stored.
            RejectedError: ``verify`` is set, and the graph holds something else.
        """
        name = normalize_id(artifact_id)
        with self._session() as session:
            kind = find_kind(session, name)
            properties: dict[str, Any] = describe_artifact(session, kind, name)
        if verify:
            with self._stores() as stores:
                check_artifact(stores, kind, name)
        return properties

    def forest(self, forest_id: str) -> Forest:
        """Return a stored forest.

        Raises:
            NotFoundError: no such forest is stored.
        """
        name = normalize_id(forest_id)
        with self._session() as session:
            find(session, "forest", name)
            return repository.load_forest(session, name)

    def schedule_steps(self, schedule_id: str) -> Table:
        """Return the step profile of a stored schedule.

        Raises:
            NotFoundError: no such schedule is stored.
        """
        name = normalize_id(schedule_id)
        with self._session() as session:
            find(session, "schedule", name)
            return list_profile(repository.load_schedule_profile(session, name))


def _is_id(text: str) -> bool:
    """Return whether a text is the id of a forest, such as ``S5:multiple:12345``, not a name."""
    return text.count(":") == 2


def _check_types(name: str, values: Iterable[Any], types: tuple[type, ...], noun: str) -> None:
    for value in values:
        if not isinstance(value, types):
            raise InputError(f"{name} holds {value!r}, which is not {noun}", hint=f"give {noun}")


def _load_method(method: LoadMethod | str) -> LoadMethod:
    return choose(LoadMethod, method, "load method")
