"""The methods of a lab for the claims of the papers and for records."""

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Literal

from starcast.lab.connection import Connection
from starcast.support.table import Row, Table
from starcast.vocabulary import Level, VerdictWord

if TYPE_CHECKING:
    from starcast.claims import Verdict, listing


class Questions(Connection):
    """Questions to the papers, and to records."""

    def claims(self, paper: str | None = None, verdict: VerdictWord | None = None) -> Table:
        """Return the claims of the papers with their newest stored verdicts.

        Args:
            paper: only the claims of a paper: TS, SLC, FA, EDT or NK.
            verdict: only the claims with this verdict.

        Raises:
            InputError: the paper is unknown.
        """
        from starcast.claims import listing

        listing.check_paper(paper)
        return listing.list_claims(self._verdicts(), paper, verdict)

    def claim(self, claim_id: str) -> Row:
        """Return everything that is known of a claim, by name.

        Raises:
            NotFoundError: no claim has this id.
        """
        from starcast.claims import find_claim, listing

        return listing.claim_facts(find_claim(claim_id), self._verdicts())

    def check_claims(
        self,
        *names: str,
        level: Level = "quick",
        sizes: Sequence[str] | None = None,
        jobs: int | None = None,
        again: bool = False,
        store: bool = True,
        executor: Executor | None = None,
    ) -> Table:
        """Verify claims by computation, and return their verdicts.

        Args:
            names: ids, or beginnings of ids, such as TS.L5; by default all claims.
            level: the sizes to verify: ``quick``, ``full`` or ``deep``.
            sizes: topologies to verify instead of a level.
            jobs: number of processes; by default one per core.
            again: verify again what is stored for the same code.
            store: store evidence and verdicts.
            executor: computes the checks instead of processes on this machine.

        Raises:
            InputError: a claim, the level or a size is unknown.
            BusyError: another process is checking claims.
        """
        from starcast.claims import claim_run, listing, parallel, select_claims

        verdicts: Sequence[Verdict]
        if store:
            verdicts = claim_run.verify_claims(
                self.engine,
                names,
                level,
                sizes,
                reporter=self.reporter,
                jobs=jobs,
                again=again,
                executor=executor,
            ).verdicts
        else:
            claims = select_claims(list(names))
            verdicts = parallel.verify_claims(claims, level, sizes, jobs, self.reporter, executor)
        return listing.list_verdicts(verdicts)

    def claim_runs(self) -> Table:
        """Return the stored verification runs: requested claims, code, and number of verdicts."""
        from starcast.claims import listing

        with self._session() as session:
            return listing.list_claim_runs(session)

    def claim_changes(self, before: int | None = None, after: int | None = None) -> Table:
        """Return the differences between two verification runs, by default the newest two.

        Raises:
            NotFoundError: there is no such finished run.
        """
        from starcast.claims import listing

        with self._session() as session:
            return listing.list_changes(session, before, after)

    def claim_report(
        self, run: int | None = None, page: Literal["markdown", "html"] = "markdown"
    ) -> str:
        """Return the report on a verification run, by default the newest finished one.

        Raises:
            NotFoundError: there is no such finished run.
        """
        from starcast.claims import listing, report
        from starcast.claims import storage as claim_storage

        with self._session() as session:
            found = (
                claim_storage.load_newest(session)
                if run is None
                else claim_storage.load_finished(session, run)
            )
            verdicts = claim_storage.load_verdicts(session, found.id)
        about = listing.run_provenance(found)
        if page == "html":
            return report.html(verdicts, about)
        return f"# Claims\n\n{report.markdown(verdicts, about)}"

    def _verdicts(self) -> "listing.Stored":
        from starcast.claims import storage as claim_storage

        with self._session() as session:
            return claim_storage.newest_verdicts(session)
