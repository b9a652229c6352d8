"""The operations on the graph: verify and rebuild it, and import it into a server of one's own."""

from pathlib import Path
from typing import Annotated, Unpack

from starcast.errors import InputError, RejectedError
from starcast.lab.artifacts import Artifacts, IngestOptions, Schedules, Trees, list_loaded
from starcast.lab.choices import choose
from starcast.lab.signature import All, ArtifactId, Method, OptionalTopology, Shell
from starcast.support.table import Facts, Table
from starcast.support.text import pluralize
from starcast.vocabulary import LoadMethod


class Graphs(Artifacts):
    """The graph in Neo4j, which can be built again from PostgreSQL."""

    def verify(
        self,
        *ids: ArtifactId,
        sample: Annotated[int | None, Shell(least=1)] = None,
        all_rows: All = False,
        seed: Annotated[int | None, Shell(least=0)] = None,
    ) -> Table:
        """Compare the graph in Neo4j with newly built artifacts.

        In a shell, exit code 6 if they differ, with a table of all differences.

        Every stored topology, forest and schedule is built and verified again, and its counts and
        checksums are compared. The artifact nodes, the indexes, the labels, types and properties in
        use, and orphaned data are checked as well. With ids, only these artifacts, the indexes and
        the :Store node are checked. With ``sample``, only the sampled nodes and their rows are read
        and compared, without counts and checksums, which takes seconds for a graph of any size.

        Verification only reads, and takes no lock: artifacts that an ingest or a drop changes in
        the meantime are skipped and reported.

        Args:
            ids: ids of artifacts, each with its dependents (default: all).
            sample: compare only this many random nodes of each topology.
            all_rows: compare all rows and name the first differences.
            seed: random seed for the sample (default: random).

        Returns:
            The differences, without rows if the graph is correct.

        Raises:
            InputError: the options cannot be combined.
            NotFoundError: no artifact with such an id is stored.

        Example:
            >>> len(lab.verify("S6", sample=50, seed=7))
            0

            $ starcast graph verify
            $ starcast graph verify S6 --sample 50 --seed 7
            $ starcast graph verify 'S6:multiple:123456' --all
        """
        from starcast.graph.audit import list_problems
        from starcast.ingest.row_comparison import Depth
        from starcast.ingest.verification import verify

        depth = Depth.choose(sample, all_rows=all_rows, seed=seed)
        drawn = ""
        if sample is not None:
            drawn = f"{sample:,} nodes of each topology, drawn with --seed {depth.seed}"
            self.reporter.say(f"comparing {drawn}")
        with self._stores() as stores:
            problems = list_problems(verify(stores, ids, depth, self.reporter))
        found = len(problems)
        if not found:
            note = "; ".join(filter(None, ("the graph matches the generators", drawn)))
            return Table(problems.columns, problems.rows, note)
        failure = RejectedError(
            f"graph verification found {pluralize(found, 'problem')}",
            hint="see the column 'advice'; 'starcast graph rebuild' recreates all starcast data",
        )
        return Table(problems.columns, problems.rows, failure=failure)

    def rebuild(
        self,
        *ids: ArtifactId,
        method: Method = LoadMethod.AUTO,
        discard_foreign: bool = False,
        wait: bool = False,
    ) -> Table:
        """Rebuild the graph from PostgreSQL: artifacts are built, verified and written again.

        An import, which needs the embedded Neo4j, creates a new store that replaces the old one
        after it is verified. Over Bolt, artifacts are deleted and loaded one by one, and orphaned
        data are deleted. Data of other applications are kept over Bolt, except for relationships at
        nodes that are recreated; nothing of them is deleted without ``discard_foreign``. An
        interrupted rebuild continues when it is run again.

        Args:
            ids: ids of artifacts, each with its dependents (default: all).
            method: load method: bolt, import (offline, embedded Neo4j only), or auto (the faster).
            discard_foreign: delete nodes and relationships of other applications where necessary.
            wait: wait for another ingest or drop instead of failing.

        Returns:
            What was recreated.

        Raises:
            NotFoundError, RejectedError, InputError, LimitError, BusyError: see
                `starcast.ingest.ingestion.rebuild`.

        Example:
            $ starcast graph rebuild
            $ starcast graph rebuild S6 --method bolt
        """
        from starcast.ingest.ingestion import RebuildRequest, rebuild

        chosen = choose(LoadMethod, method, "load method")
        with self._stores() as stores:
            rebuilt = rebuild(
                stores, RebuildRequest(ids, chosen, discard_foreign, wait), self.reporter
            )
        many = pluralize(len(rebuilt), "artifact")
        return list_loaded(
            rebuilt, f"rebuilt {many}" if rebuilt else "nothing to rebuild: nothing is stored"
        )

    def adopt(self, *, wait: bool = False) -> Table:
        """Verify the data of an offline import (``starcast export``) and mark them as complete.

        Artifacts that differ are rejected and never used: import them again, or drop them.

        Args:
            wait: wait for another ingest or drop instead of failing.

        Returns:
            The adopted artifacts.

        Raises:
            RejectedError: an artifact differs from what its generator builds.
            BusyError: another process is changing the stores, and ``wait`` is not given.
        """
        from starcast.ingest.offline import adopt
        from starcast.ingest.stores import lock_stores

        with (
            self._stores() as opened,
            lock_stores(opened, wait, self.reporter, "adopting an import") as stores,
        ):
            rows = [{"kind": each.kind, "id": each.id} for each in adopt(stores, self.reporter)]
        many = pluralize(len(rows), "artifact")
        note = f"adopted {many}" if rows else "nothing to adopt: no import is waiting"
        return Table.of(rows, ("kind", "id"), note)

    def export_files(
        self,
        folder: Annotated[Path, Shell(metavar="DIR")],
        topology: OptionalTopology = None,
        *,
        trees: Trees = (),
        schedules: Schedules = (),
        **options: Unpack[IngestOptions],
    ) -> Facts:
        """Write files for an offline import of everything stored, and of an additional topology.

        For docker compose and your own Neo4j server, where an import is far faster than Bolt. Only
        PostgreSQL is needed. Says the next steps: stop Neo4j, run the script, start Neo4j, and run
        ``starcast graph adopt``.

        Args:
            folder: output folder; it must be new or empty.
            topology: a topology to add to what is stored, such as S9.
            trees: constructions, separated by commas, as for ``starcast ingest``.
            schedules: algorithms, separated by commas, as for ``starcast ingest``.
            options: `IngestOptions`.

        Returns:
            The ids of the artifacts, the folder, its size in bytes, and the next steps: ``guide``.

        Raises:
            InputError: a name is wrong, or the folder is not empty.
            LimitError: the disk is too small.

        Example:
            $ starcast export /tmp/files
            $ starcast export /tmp/files S9 --trees multiple
        """
        from starcast.ingest.export_files import export

        if topology is None and (trees or schedules or options):
            raise InputError(
                "trees and schedules need a topology, and none is given",
                hint="name a topology after the folder, such as S9",
            )
        request = None
        if topology is not None:
            request = self._request(topology, trees, schedules, (), options)
        database = self.settings.neo4j_database
        done = export(self.engine, Path(folder), request, database, self.reporter)
        values = {
            "artifacts": list(done.artifacts),
            "folder": str(done.files.folder),
            "bytes": done.files.bytes,
            "guide": done.guide,
        }
        many = pluralize(len(done.artifacts), "artifact")
        size = f"{many}, {done.files.bytes / 1e6:,.0f} MB in {done.files.folder}"
        return Facts(values, f"{done.guide}\n{size}")
