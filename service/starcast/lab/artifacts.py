"""The operations on stored artifacts: ingest, list, show and drop them, and verify the graph."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack, cast

from starcast.lab.connection import Connection
from starcast.lab.signature import (
    All,
    ArtifactId,
    MethodOption,
    Root,
    Shell,
    StoredTopologyName,
    TopologyName,
    as_list,
    choose,
    is_network_file,
    read_id,
    read_stored_topology,
    read_topology,
)
from starcast.support.errors import BusyError, InputError, LimitError, RejectedError
from starcast.support.table import Facts, Table
from starcast.support.text import pluralize
from starcast.support.vocabulary import LoadMethod, NetworkFormat, Weights

if TYPE_CHECKING:
    from starcast.ingest import Plan
    from starcast.ingest.loading import Loaded
    from starcast.topologies import Topology
    from starcast.trees import Forest

Trees = Annotated["str | Forest | Iterable[str | Forest]", Shell(str, completes="constructions")]
ScheduleIds = Annotated["str | Iterable[str]", Shell(str, completes="schedules")]


class IngestOptions(TypedDict, total=False):
    """Options that determine the forests and schedules of an ingest.

    Attributes:
        root: root of forests and schedules: a label, or a rank such as #6 (default: the node of
            rank 0). In Python, the rank can also be an integer.
        ports: port model of the schedules: all (a node uses all ports in a step), one (one port to
            send and one to receive), both (a schedule for each of the two), or default (the first
            port model that each algorithm supports).
        segments: number of equal parts into which each tree's share of a message is divided, for
            algorithms that segment messages.
        messages: number of unit messages into which each message is divided, for algorithms that
            send unit messages.
    """

    root: Root
    ports: str
    segments: int | None
    messages: int | None


class Artifacts(Connection):
    """Operations on artifacts: the topologies, forests and schedules in Neo4j and PostgreSQL."""

    def ingest(
        self,
        topology: TopologyName,
        *,
        trees: Trees = (),
        schedules: ScheduleIds = (),
        forest: Annotated[
            str | Path | Sequence[str | Path], Shell(Sequence[Path], metavar="FILE")
        ] = (),
        method: MethodOption = LoadMethod.AUTO,
        wait: bool = False,
        dry_run: bool = False,
        **options: Unpack[IngestOptions],
    ) -> Table:
        """Build a topology with forests and schedules, verify them, and store them.

        The artifacts are written to Neo4j, where queries find them, and registered in PostgreSQL.

        Topologies, forests and schedules that are already stored are not built again. If an ingest
        is interrupted or killed, no operation uses its incomplete data, and the next ingest or drop
        removes them.

        A large ingest into the embedded Neo4j uses an offline import: a new store with the old and
        the new data is created and verified, and replaces the old store while Neo4j restarts.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            trees: constructions of forests, separated by commas, such as
                ``multiple,dimension-change(base=greedy,i=2)``; or ``all``, which selects every
                construction that needs no arguments. In Python, a list is also accepted, whose
                items are constructions, ids and `Forest` objects; a `Forest` object is stored
                under its own id.
            schedules: algorithms of schedules, separated by commas, such as ``allgather:necklace``
                or ``alltoall:edge-disjoint(copies=2)``. If the collective is
                omitted, as in ``multiple``, and several collectives have this algorithm, it is
                broadcast. ``broadcast:all`` selects every algorithm for broadcast; ``all`` selects
                every algorithm for every collective. The forests that the algorithms use are stored
                too.
            forest: a file that ``starcast forest build`` or ``Forest.save`` wrote. The forest is
                stored under the construction name in the file. Can be repeated.
            method: load method: bolt (write the rows over the Bolt protocol while Neo4j runs),
                import (load the rows offline into a new store; embedded Neo4j only), or auto (the
                faster of the two).
            wait: if another process is changing the stores, wait until it has finished instead of
                failing.
            dry_run: only estimate the numbers of nodes and relationships, the disk space and the
                time; store nothing. No server is needed.
            options: root, port model, segments and messages; see `IngestOptions`.

        Returns:
            A row for each new topology, forest or schedule, with its numbers of nodes and
            relationships in Neo4j, and the time in seconds. The note contains the number of
            artifacts that were already stored.

        Raises:
            InputError: a name or an argument is wrong, or a given forest is on a topology other
                than ``topology``.
            RejectedError: a topology, forest or schedule failed its verification, and is not
                stored; or a given forest has the name of a construction that builds different
                trees, or the id of a stored forest with different trees, and nothing was written.
            BusyError: another process is changing the stores.
            LimitError: the ingest exceeds the permitted number of rows or the free disk space;
                nothing was written.
            UnavailableError: a server is not running.

        Example:
            >>> mine = starcast.Forest("S5", parent_ports, construction="mine")
            >>> lab.ingest("S5", trees=["multiple", mine])["id"]
            ['S5', 'S5:mine:12345', 'S5:multiple:12345']

            $ starcast ingest S5 --trees all --schedules all
            $ starcast ingest S6 --schedules multiple --ports both --segments 4 --root 654321
            $ starcast ingest S9 --trees multiple --method import
            $ starcast ingest S5 --forest mine.npz
            $ starcast ingest S5 --schedules 'allgather:dimension-change(base=necklace)'
        """
        from starcast.ingest import ingest

        plan = self._plan(topology, trees, schedules, forest, options)
        chosen = choose(LoadMethod, method, "load method")
        if dry_run:
            return self._estimate(plan, chosen)
        with self._stores(f"ingesting {plan.artifacts[0].id}", wait=wait) as stores:
            summary = ingest(stores, plan, wait, self.reporter, method=chosen)
        return list_loaded(summary.created, str(summary))

    def _estimate(self, plan: "Plan", method: LoadMethod) -> Table:
        from starcast.ingest.planning import choose_method, list_estimates

        is_embedded = self.settings.neo4j_uri is None
        try:
            self.reporter.say(
                # A dry run does not connect to the stores, so it assumes that they are empty.
                choose_method(method, plan.artifacts, [], embedded=is_embedded).reason
            )
        # An ingest would fail with this error, but a dry run only reports it and lists the sizes.
        except LimitError as error:
            self.reporter.say(f"too large to ingest: {error.message}")
        estimates = list_estimates(plan.artifacts)
        note = (
            "estimated for an empty store and two idle processors; an import also reloads the"
            " stored artifacts, and verification takes additional time"
        )
        return Table(estimates.columns, estimates.rows, note)

    def _plan(
        self,
        topology: TopologyName,
        trees: Trees,
        schedules: ScheduleIds,
        files: str | Path | Sequence[str | Path],
        options: IngestOptions,
    ) -> "Plan":
        from starcast.ingest import parse_request
        from starcast.support.vocabulary import split_specs
        from starcast.trees import Forest

        asked = as_list("trees", trees, (str, Forest), "a construction, an id or a Forest")
        algorithms = as_list("schedules", schedules, (str,), "an algorithm")
        paths = as_list("forest", files, (str, Path), "a forest file")
        texts = split_specs(each for each in asked if isinstance(each, str))
        forests = [each for each in asked if isinstance(each, Forest)]
        forests += [self._forest_of(each) for each in texts if _is_id(each)]
        forests += [Forest.open(path) for path in paths]
        names = [each for each in texts if not _is_id(each)]
        # Without --root, the command line passes None. The default root is the node of rank 0.
        given: dict[str, Any] = {**options, "root": options.get("root") or 0}
        plan = parse_request(
            read_topology(topology), names, split_specs(algorithms), forests=forests, **given
        )
        for reason in plan.skipped:
            self.reporter.say(f"omitted from 'all': {reason}")
        return plan

    def _forest_of(self, forest_id: str) -> "Forest":
        """Load the forest with the given id from PostgreSQL or, if it is not stored, build it."""
        from starcast.ingest.artifacts import artifact_from_id

        name = self._spell(forest_id)
        with self._session() as session:
            artifact = artifact_from_id(session, "forest", name)
        return cast("Forest", artifact.structure())

    def drop(
        self,
        artifact_id: ArtifactId,
        *,
        kind: str | None = None,
        cascade: bool = False,
        wait: bool = False,
        method: MethodOption = LoadMethod.AUTO,
    ) -> Facts:
        """Delete a stored topology, forest or schedule from Neo4j and PostgreSQL.

        Without ``cascade``, the command fails if other artifacts depend on the given artifact.
        Forests and schedules depend on their topology, and schedules also on their forest.

        The definition of a network stays in PostgreSQL if a stored run or record uses the network,
        or if another process is writing to PostgreSQL and ``wait`` is not given. The network is
        then deleted only from Neo4j; if it is not in Neo4j, the command fails.

        If a large artifact is deleted from the embedded Neo4j, all other data are imported into a
        new store, which then replaces the old store while Neo4j restarts. This import is faster
        than deleting the rows one by one, and frees disk space.

        Args:
            artifact_id: the id of a stored topology, forest or schedule.
            kind: fail unless the id belongs to an artifact of this kind: topology, forest or
                schedule.
            cascade: also delete the forests and schedules that depend on the artifact.
            wait: if another process is changing the stores, wait until it has finished instead of
                failing.
            method: load method: bolt (delete the rows over the Bolt protocol), import (load the
                remaining rows into a new store; embedded Neo4j only), or auto (the faster of the
                two).

        Returns:
            The ids of the deleted artifacts, as ``dropped``.

        Raises:
            NotFoundError: no artifact with this id is stored.
            RejectedError: forests or schedules depend on the artifact, and ``cascade`` is not
                given; the artifact is a network that is not in Neo4j, and a stored run or record
                uses it; or ``method`` is import, which would delete data of other applications.
            BusyError: another process is changing the stores.
            InputError: ``method`` is import, but Neo4j is not the embedded one.
            LimitError: ``method`` is import, but there are too many rows or too little disk space.
        """
        from starcast.ingest import drop

        chosen = choose(LoadMethod, method, "load method")
        name = self._spell(artifact_id)
        if kind in {None, "topology"} and self._is_only_stored(name):
            self._drop_network(name, wait=wait)
            return Facts({"dropped": [name]}, f"dropped the network {name}")
        name, kind = self._named(name, kind)
        with self._stores(f"dropping {name}", wait=wait) as stores:
            dropped = drop(stores, kind, name, cascade, wait, self.reporter, chosen)
        if kind == "topology" and self._is_only_stored(name):
            try:
                self._drop_network(name, wait=wait)
            except (RejectedError, BusyError) as error:
                self.reporter.say(f"the network is kept: {error.message}")
        return Facts({"dropped": dropped}, f"dropped {pluralize(len(dropped), 'artifact')}")

    def _is_only_stored(self, spec: str) -> bool:
        """Return whether the network with this spec is stored in PostgreSQL but not in Neo4j."""
        from starcast.stores.database.networks import is_only_stored

        with self._session() as session:
            return is_only_stored(session, spec)

    def _drop_network(self, spec: str, *, wait: bool) -> None:
        from starcast.stores.database.networks import drop_network
        from starcast.stores.database.sessions import lock_store

        # The lock is exclusive, so that no other process stores a run on the network meanwhile.
        lock = lock_store(
            self.database, f"dropping {spec}", self.reporter, wait=wait, exclusive=True
        )
        with lock as engine, self._session(engine) as session:
            drop_network(session, spec)

    def _named(self, artifact_id: str, kind: str | None) -> tuple[str, str]:
        """Return the normalized id of an artifact, and its kind.

        If ``kind`` is None, the kind is read from PostgreSQL.
        """
        from starcast.stores.database.repository import find_artifact

        name = self._spell(artifact_id)
        if kind is not None:
            return name, kind
        with self._session() as session:
            return name, find_artifact(session, None, name).kind

    def _spell(self, artifact_id: str) -> str:
        """Return an id in normalized form, with the name of a network replaced by its spec."""
        from starcast.topologies import normalize_id

        return read_id(normalize_id(artifact_id))

    def add_network(
        self,
        network: Annotated["str | Path | Topology", Shell(str, metavar="FILE")],
        *,
        name: str | None = None,
        file_format: Annotated[NetworkFormat | None, Shell(flag="--from")] = None,
        weights: Weights | None = None,
        wait: bool = False,
    ) -> Facts:
        """Store a network, so that commands find the network by spec or name, without the file.

        The network is stored in PostgreSQL. To query the network in Neo4j, run ``starcast ingest``.
        Ingests, runs and experiments also store the networks that they use.

        Args:
            network: a file with a network, such as germany50.graphml. In Python, a `Network` is
                also accepted.
            name: name of the network, which is the first part of its spec (default: the name of the
                file).
            file_format: format of the file (default: detected from the content or, failing that,
                from the suffix).
            weights: use the weights of links in the file as capacities or as latencies (default:
                ignore them).
            wait: if a backup is being restored, wait for the end of the restore instead of failing.

        Returns:
            The spec of the network, and its numbers of nodes and links. If a link has a capacity
            other than 1 or a latency other than 0, also the distinct capacities and their unit, or
            the distinct latencies. If the network has switches, also its number of endpoints.

        Raises:
            InputError: the file cannot be read, or the name is malformed.
            RejectedError: a different network, or the same network with different port numbers, is
                already stored under the same spec.

        Example:
            >>> lab.add_network(starcast.network([("a", "b"), ("b", "c")], name="mine"))["spec"]
            'mine-45f27d'

            $ starcast topology add germany50.graphml
            $ starcast topology add links.csv --name mine
        """
        from starcast.formats import network as read_network
        from starcast.stores.database.networks import save_network
        from starcast.topologies.base import describe_links
        from starcast.topologies.networks import Network

        if name is not None and not is_network_file(network):
            raise InputError(
                f"'{network}' is not a network file, so it cannot be stored under the name"
                f" '{name}'",
                hint="specify a file, or omit `name`; in Python, use "
                "starcast.network(links, name=...)",
            )
        found: Topology = (
            read_network(
                network, name=name, file_format=file_format, weights=weights, reporter=self.reporter
            )
            if is_network_file(network)
            else read_topology(network)
        )
        if not isinstance(found, Network):
            raise InputError(
                f"{found.spec} belongs to a family of topologies, so it is not stored as a network",
                hint=f"run 'starcast ingest {found.spec}'",
            )
        with (
            self._writing(f"adding {found.spec}", wait=wait) as engine,
            self._session(engine) as session,
        ):
            is_new = save_network(session, found.spec)
        values = {"spec": found.spec, "nodes": found.nodes, "links": found.links}
        values |= describe_links(found)
        if found.endpoints < found.nodes:
            values["endpoints"] = found.endpoints
        return Facts(values, f"{found.spec} {'is stored' if is_new else 'was stored before'}")

    def topologies(self) -> Table:
        """List the topologies in Neo4j with their states, and networks that are only in PostgreSQL.

        The last column, ``used_by``, counts the stored forests, schedules, runs and records of each
        topology.
        """
        from starcast.stores.database.networks import count_uses, describe_uses, list_networks

        ingested = self._list("topology", None)
        with self._session() as session:
            uses, networks = count_uses(session), list_networks(session)
        rows = [
            *ingested.rows,
            *({**row, "state": "not ingested"} for row in networks),
        ]
        for row in rows:
            row["used_by"] = describe_uses(uses.get(row["id"], {}))
        return Table.of(rows, (*ingested.columns, "used_by"))

    def forests(self, topology: StoredTopologyName = None) -> Table:
        """List the stored forests and their states.

        Args:
            topology: list only forests on this topology.

        Raises:
            InputError: the topology does not exist.
        """
        return self._list("forest", topology)

    def schedules(self, topology: StoredTopologyName = None) -> Table:
        """List the stored schedules and their states.

        Args:
            topology: list only schedules on this topology.

        Raises:
            InputError: the topology does not exist.
        """
        return self._list("schedule", topology)

    def _list(self, kind: str, topology: StoredTopologyName) -> Table:
        from starcast.stores.database.repository import artifact_columns, list_artifacts

        spec = None
        if topology is not None:
            spec = read_stored_topology(topology).spec
        with self._session() as session:
            rows = list_artifacts(session, kind, spec)
        # The column `error` is nearly always empty, so it is shown only if a row has an error.
        has_errors = any(row["error"] for row in rows)
        return Table.of(
            rows, [name for name in artifact_columns(kind) if name != "error" or has_errors]
        )

    def show(
        self, artifact_id: ArtifactId, *, kind: str | None = None, verify: bool = False
    ) -> Facts:
        """Show the parameters, properties and state of a stored topology, forest or schedule.

        Args:
            artifact_id: the id of a stored topology, forest or schedule.
            kind: fail unless the id belongs to an artifact of this kind: topology, forest or
                schedule.
            verify: also check that the counts and checksums in Neo4j equal the values recorded when
                the artifact was stored.

        Raises:
            NotFoundError: no artifact with this id is stored.
            RejectedError: ``verify`` is given, and the counts or checksums in Neo4j differ.
        """
        from starcast.stores.database.repository import describe_artifact

        name, kind = self._named(artifact_id, kind)
        with self._session() as session:
            properties = describe_artifact(session, kind, name)
        if verify:
            from starcast.ingest.verification import check_artifact

            with self._stores() as stores:
                check_artifact(stores, kind, name)
            self.reporter.say(f"the counts and checksums of {name} in Neo4j are correct")
        return Facts(properties)

    def forest(self, forest_id: str) -> "Forest":
        """Return a stored forest as a `Forest`.

        Raises:
            NotFoundError: no forest with this id is stored.
        """
        from starcast.stores.database import repository

        name = self._spell(forest_id)
        with self._session() as session:
            repository.find_artifact(session, "forest", name)
            return repository.load_forest(session, name)

    def schedule_steps(self, schedule_id: ArtifactId) -> Table:
        """Count the busy links, and the units in the largest packet, in each step of a schedule.

        Args:
            schedule_id: the id of a stored schedule.

        Raises:
            NotFoundError: no schedule with this id is stored.
        """
        from starcast.comparison.listing import list_profile
        from starcast.stores.database import repository

        name = self._spell(schedule_id)
        with self._session() as session:
            repository.find_artifact(session, "schedule", name)
            return list_profile(repository.load_schedule_profile(session, name))

    def verify(
        self,
        *ids: ArtifactId,
        sample: Annotated[int, Shell(least=1)] = 500,
        seed: Annotated[int | None, Shell(least=0)] = None,
        checksums: All = False,
    ) -> Table:
        """Verify the graph in Neo4j: compare the graph with artifacts that are built again.

        Every stored topology, forest and schedule is built again. The comparison covers the counts
        of all nodes and relationships, the indexes, the properties of each topology, forest and
        schedule, and all data at a random sample of nodes of each topology. A topology with no more
        nodes than the sample is compared completely. The samples are read in seconds, whatever the
        size of the graph. With ``checksums``, every forest and schedule is also verified again, and
        the checksums of all rows are compared.

        A table lists the differences. In a shell, the exit code is 6 if there are differences.

        If ids are given, only these artifacts, all artifacts that depend on them, the indexes and
        the :Store node (which names the PostgreSQL database of the graph) are compared.
        Verification is read-only and acquires no lock: artifacts that another process changes in
        the meantime are skipped and reported.

        Args:
            ids: ids of stored topologies, forests or schedules; artifacts that depend on them are
                verified too (default: all artifacts).
            sample: number of random nodes of each topology whose data are compared.
            seed: random seed of the sample (default: random).
            checksums: also verify every forest and schedule again, and compare the checksums of all
                rows, which takes longer.

        Returns:
            A table of the differences, which is empty if there are none.

        Raises:
            NotFoundError: an id is not stored.

        Example:
            >>> len(lab.verify("S6", sample=50, seed=7))
            0

            $ starcast graph verify
            $ starcast graph verify S6 --sample 50 --seed 7
            $ starcast graph verify 'S6:multiple:123456' --all
        """
        from starcast.ingest.verification import Sample, list_problems, verify

        # Without a seed, `Sample` chooses a random seed. The note contains the seed, so that the
        # same sample can be checked again.
        drawn = Sample(sample) if seed is None else Sample(sample, seed)
        with self._stores() as stores:
            names = [self._spell(each) for each in ids]
            found = verify(stores, names, drawn, self.reporter, checksums=checksums)
        problems = list_problems(found)
        if not found:
            compared = "all checksums and " if checksums else ""
            note = f"the graph matches newly built artifacts in {compared}a sample of {sample:,} "
            note += f"nodes of each topology, drawn with `seed` {drawn.seed}"
            return Table(problems.columns, problems.rows, note)
        failure = RejectedError(
            f"graph verification found {pluralize(len(found), 'problem')}",
            hint="repair all data of starcast with 'starcast graph rebuild', which keeps other "
            "data; if the graph belongs to another database, check the settings of both servers",
        )
        return Table(problems.columns, problems.rows, failure=failure)

    def rebuild(
        self,
        *ids: ArtifactId,
        method: MethodOption = LoadMethod.AUTO,
        discard_foreign: bool = False,
        replace: bool = False,
        wait: bool = False,
    ) -> Table:
        """Rebuild the graph in Neo4j: build, verify and write all stored artifacts again.

        PostgreSQL records which topologies, forests and schedules are stored. With the method
        import, which needs the embedded Neo4j, a new store is created and verified before it
        replaces the old store. With the method bolt, artifacts are deleted and loaded one by one;
        data of other applications in the same Neo4j are kept, except relationships between these
        data and nodes of starcast. A rebuild that would delete data of other applications is
        refused without ``discard_foreign``. If a rebuild is interrupted, run the command again to
        continue the rebuild.

        Args:
            ids: ids of stored topologies, forests or schedules; artifacts that depend on them are
                recreated too (default: all artifacts).
            method: load method: bolt (write the rows over the Bolt protocol while Neo4j runs),
                import (load the rows offline into a new store; embedded Neo4j only), or auto (the
                faster of the two).
            discard_foreign: permit the deletion of nodes and relationships of other applications.
            replace: empty Neo4j first, even if its graph belongs to another PostgreSQL database,
                and rebuild everything.
            wait: if another process is changing the stores, wait until it has finished instead of
                failing.

        Returns:
            A row for each rebuilt artifact, with its numbers of nodes and relationships, and the
            time in seconds.

        Raises:
            NotFoundError: an id is not stored.
            RejectedError: data of other applications would be deleted, a verification failed, or an
                artifact in ``ids`` was never stored completely.
            UnavailableError: a server is not running, or the graph belongs to another PostgreSQL
                database or application.
            InputError: ``method`` is import, but Neo4j is not the embedded one.
            LimitError: the artifacts have more rows than the load method permits, or the disk has
                too little free space.
            BusyError: another process is changing the stores.

        Example:
            $ starcast graph rebuild
            $ starcast graph rebuild S6 --method bolt
        """
        from starcast.ingest.rebuilding import rebuild

        chosen = choose(LoadMethod, method, "load method")
        with self._stores("rebuilding the graph", wait=wait) as stores:
            rebuilt = rebuild(
                stores,
                [self._spell(each) for each in ids],
                chosen,
                self.reporter,
                discard_foreign=discard_foreign,
                wait=wait,
                replace=replace,
            )
        many = pluralize(len(rebuilt), "artifact")
        return list_loaded(
            rebuilt,
            f"rebuilt {many}" if rebuilt else "nothing to rebuild: no complete artifact is stored",
        )


def list_loaded(loaded: "Iterable[Loaded]", note: str) -> Table:
    """Return a table of the artifacts that an operation has loaded into Neo4j, with a note."""
    columns = ("kind", "id", "nodes", "relationships", "seconds")
    return Table.of(map(vars, loaded), columns, note)


def _is_id(text: str) -> bool:
    """Return whether a string is a forest id (``S5:multiple:12345``), not a construction."""
    return text.count(":") == 2
