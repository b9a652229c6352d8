"""The operations on the graph: verify it and rebuild it."""

from typing import Annotated

from starcast.lab.artifacts import Artifacts, list_loaded
from starcast.lab.choices import choose
from starcast.lab.signature import All, ArtifactId, Method, Shell
from starcast.support.errors import RejectedError
from starcast.support.table import Table
from starcast.support.text import pluralize
from starcast.support.vocabulary import LoadMethod


class Graphs(Artifacts):
    """Operations on the graph in Neo4j, which can be rebuilt from PostgreSQL."""

    def verify(
        self,
        *ids: ArtifactId,
        sample: Annotated[int, Shell(least=1)] = 500,
        seed: Annotated[int | None, Shell(least=0)] = None,
        checksums: All = False,
    ) -> Table:
        """Compare the graph in Neo4j with newly built artifacts.

        Every stored topology, forest and schedule is built again. The comparison covers the counts
        of all nodes and rows, the indexes, the artifact nodes, and all data at a random sample of
        nodes of each topology. A topology with no more nodes than the sample is compared
        completely. This takes seconds for a graph of any size. With ``checksums``, every artifact
        is also verified again, and the counts and checksums of all its rows are compared.

        A table lists the differences. In a shell, the exit code is 6 if there are any.

        If ids are given, only these artifacts, the indexes and the :Store node are compared.
        Verification only reads, and takes no lock: artifacts that an ingest or a drop changes in
        the meantime are skipped and reported.

        Args:
            ids: ids of artifacts, each with its dependents (default: all).
            sample: number of random nodes of each topology.
            seed: random seed of the sample (default: random).
            checksums: compare the checksums of all rows, too.

        Returns:
            A table of the differences, which is empty if there are none.

        Raises:
            NotFoundError: no artifact with such an id is stored.

        Example:
            >>> len(lab.verify("S6", sample=50, seed=7))
            0

            $ starcast graph verify
            $ starcast graph verify S6 --sample 50 --seed 7
            $ starcast graph verify 'S6:multiple:123456' --all
        """
        from starcast.ingest.sample import Sample
        from starcast.ingest.verification import list_problems, verify

        # Without a seed, `Sample` chooses a random one. The note contains the seed, so that the
        # same sample can be checked again.
        drawn = Sample(sample) if seed is None else Sample(sample, seed)
        with self._stores() as stores:
            found = verify(stores, ids, drawn, self.reporter, checksums=checksums)
        problems = list_problems(found)
        if not found:
            compared = "all checksums and " if checksums else ""
            note = f"the graph matches newly built artifacts in {compared}a sample of {sample:,} "
            note += f"nodes of each topology, drawn with --seed {drawn.seed}"
            return Table(problems.columns, problems.rows, note)
        failure = RejectedError(
            f"graph verification found {pluralize(len(found), 'problem')}",
            hint="repair all data of starcast with 'starcast graph rebuild', which keeps other "
            "data",
        )
        return Table(problems.columns, problems.rows, failure=failure)

    def rebuild(
        self,
        *ids: ArtifactId,
        method: Method = LoadMethod.AUTO,
        discard_foreign: bool = False,
        replace: bool = False,
        wait: bool = False,
    ) -> Table:
        """Rebuild the graph from PostgreSQL: artifacts are built, verified and written again.

        An import, which needs the embedded Neo4j, creates a new store that replaces the old one
        after it is verified. Over Bolt, artifacts are deleted and loaded one by one, and orphaned
        data are deleted. Over Bolt, data of other applications are kept, except for relationships
        at nodes that are recreated. Without ``discard_foreign``, a rebuild that would delete data
        of other applications is refused. An interrupted rebuild continues when it is run again.

        Args:
            ids: ids of artifacts, each with its dependents (default: all).
            method: load method: bolt, import (offline, embedded Neo4j only), or auto (the faster).
            discard_foreign: delete nodes and relationships of other applications where necessary.
            replace: empty the graph first, whatever PostgreSQL database it belongs to, and rebuild
                everything.
            wait: wait for another ingest or drop instead of failing.

        Returns:
            The rebuilt artifacts, with the load method and the seconds.

        Raises:
            NotFoundError, RejectedError, InputError, LimitError, BusyError: as listed under
                `starcast.ingest.ingestion.rebuild`.

        Example:
            $ starcast graph rebuild
            $ starcast graph rebuild S6 --method bolt
        """
        from starcast.ingest.ingestion import rebuild

        chosen = choose(LoadMethod, method, "load method")
        with self._stores() as stores:
            rebuilt = rebuild(
                stores,
                ids,
                chosen,
                self.reporter,
                discard_foreign=discard_foreign,
                wait=wait,
                replace=replace,
            )
        many = pluralize(len(rebuilt), "artifact")
        return list_loaded(
            rebuilt, f"rebuilt {many}" if rebuilt else "nothing to rebuild: nothing is stored"
        )
