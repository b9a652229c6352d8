"""The operations on the papers' claims: list, show and verify them, and report on verdicts."""

import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from starcast.lab.connection import Connection
from starcast.lab.signature import Jobs, Shell, as_specs
from starcast.support.errors import (
    NotFoundError,
    RejectedError,
    StarcastError,
    UnavailableError,
    only_one_of,
)
from starcast.support.table import Facts, Table
from starcast.support.text import pluralize
from starcast.support.vocabulary import Level, VerdictWord

if TYPE_CHECKING:
    from starcast.claims import Claim, Verdict, report

ClaimId = Annotated[str, Shell(metavar="ID", completes="claims")]
ClaimName = Annotated[str, Shell(completes="claims")]
RunNumber = Annotated[int | None, Shell(metavar="ID", default="the newest one")]


class ClaimFacts(Facts):
    """The properties of a claim, with its newest stored verdict.

    Args:
        values: the properties of the claim, by name.
        verdict: the newest stored verdict on the claim, or None.
    """

    def __init__(self, values: Mapping[str, Any], verdict: "Verdict | None") -> None:
        super().__init__(values)
        self._verdict = verdict

    def cypher(self) -> str:
        """Return a Cypher statement that shows the claim's counterexample.

        A comment above the statement contains the ``starcast ingest`` command that stores the
        topology, forest or schedule of the counterexample.

        If no verdict is stored, the claim is first checked on the smallest topologies (level
        quick).

        Raises:
            NotFoundError: the claim has no counterexample, or the counterexample does not name its
                topology.
        """
        from starcast.claims.verify import check
        from starcast.queries.counterexample import to_cypher

        return to_cypher(self._verdict or check(self["id"]))


@dataclass(frozen=True)
class ClaimReport:
    """A report on the claims that a stored verification run checked.

    The report has a summary for each paper, the failing claims with their corrected statements, and
    one row for each claim.

    Attributes:
        subject: a phrase with the number of the run, the claims that were requested, and how many
            claims have a verdict.
        verdicts: the verdicts of the run. A verdict is omitted if the claim has changed since the
            run, or if the claim's paper pack is not loaded.
        about: the provenance of the run, such as the version of the code, as strings by label.
    """

    subject: str
    verdicts: "Sequence[Verdict]"
    about: Mapping[str, str]

    def markdown(self) -> str:
        """Return the report as Markdown."""
        from starcast.claims import report

        return f"# Claims\n\n{report.markdown(self.verdicts, self.about)}"

    def html(self) -> str:
        """Return the report as a self-contained HTML page."""
        from starcast.claims import report

        return report.html(self.verdicts, self.about)


class Claims(Connection):
    """Operations on the claims of the papers and their verdicts."""

    def claims(
        self,
        *names: ClaimName,
        verdict: VerdictWord | None = None,
    ) -> Table:
        """List the claims with their newest stored verdicts.

        The column ``run`` is the number of the verification run that stored the verdict.

        If the embedded PostgreSQL is not running, the verdicts are omitted.

        Args:
            names: ids of claims, such as TS.L5, or prefixes of ids, such as TS (default: all
                claims).
            verdict: list only the claims with this stored verdict.

        Raises:
            InputError: a name is neither a claim id nor a prefix of a claim id.
            NotFoundError: ``verdict`` is given, but no verdict is stored.

        Example:
            >>> lab.claims("TS", verdict="fails")["id"]
            ['TS.L5']

            $ starcast claims list TS
            $ starcast claims list --verdict fails
        """
        from starcast.claims import report

        selected = self._select(names)
        stored = self._verdicts(demanded=verdict is not None) or {}
        return report.list_claims(selected, stored, verdict)

    def claim(self, claim_id: ClaimId) -> ClaimFacts:
        """Show a claim, the topologies on which it is checked, and its newest stored verdict.

        In a shell, --cypher prints a Cypher statement that shows the counterexample of a failing
        claim, for ``starcast query ask`` or Neo4j Browser. A comment above the statement contains
        the ``starcast ingest`` command that stores the topology, forest or schedule of the
        counterexample. If no verdict is stored, the claim is first checked on the smallest
        topologies (level quick).

        Args:
            claim_id: id of the claim, such as TS.L5.

        Returns:
            The properties of the claim. The method ``cypher`` of the result returns the
            counterexample as Cypher.

        Raises:
            InputError: no claim has this id.

        Example:
            >>> lab.claim("TS.L5")["verdict"]
            'fails'

            $ starcast claims show TS.L5
            $ starcast claims show TS.L5 --cypher | starcast query ask -
        """
        from starcast.claims import find_claim, report

        claim = find_claim(claim_id)
        stored = self._verdicts()
        # `_verdicts` returns None after it has reported why stored verdicts are not shown.
        if stored is not None and claim.id not in stored:
            self.reporter.say(f"no verdict is stored; run 'starcast claims check {claim.id}'")
        stored = stored or {}
        _, verdict = stored.get(claim.id, (None, None))
        return ClaimFacts(report.claim_facts(claim, stored), verdict)

    def check_claims(
        self,
        *names: ClaimName,
        level: Annotated[Level | None, Shell(default="quick")] = None,
        sizes: Annotated["str | Sequence[str] | None", Shell(str, metavar="S4,S5")] = None,
        jobs: Jobs = None,
        executor: Executor | None = None,
        store: bool = True,
        wait: bool = False,
    ) -> Table:
        """Verify claims by computation, and show their verdicts.

        The verdict on a claim is "holds", "holds as a bound" (a stated value is only an upper or
        lower bound), "fails" or "not checkable". The level ``deep`` omits topologies that do not
        fit into memory.

        In a shell, the exit code is 0 even if claims fail.

        Args:
            names: ids of claims, such as TS.L5, or prefixes of ids, such as TS (default: all
                claims).
            level: the topologies on which the claims are checked: quick (the smallest), full, or
                deep (the largest).
            sizes: topologies on which the claims are checked, such as S4,S5, instead of a level; an
                (n,k)-star is written S4,2.
            jobs: number of processes.
            executor: a `concurrent.futures.Executor` that runs the checks (default: processes on
                this machine).
            store: store the verdicts and their evidence after the computation. Otherwise, no server
                is needed.
            wait: if a backup is being restored, wait for the end of the restore instead of failing.

        Returns:
            A row for each claim with its verdict. If the verdicts could not be stored, ``failure``
            is the error.

        Raises:
            InputError: a claim, the level or a topology is unknown, or options cannot be combined.
            LimitError: a topology does not fit into memory.
            BusyError: another process is restoring a backup.

        Example:
            >>> lab.check_claims("TS.L6", sizes=["S4", "S5"])["verdict"]
            ['holds as a bound']

            $ starcast claims check
            $ starcast claims check TS.L5 NK.Tab1 --level full
            $ starcast claims check TS.L5 --sizes S4,S5 --no-store
        """
        from starcast.claims import report, storage, verify

        only_one_of(level=level, sizes=sizes)
        chosen, specs = level or "quick", as_specs(sizes)
        claims = self._select(names)
        # The server is contacted before the computation, which may take minutes.
        if store and (outage := self._find_outage()):
            self.reporter.say(
                f"nothing is stored: {outage.message}"
                " ('starcast up' starts a server, `store=False` needs none)"
            )
            store = False
        task = "checking claims"
        with self._writing(task, wait=wait) if store else nullcontext():
            verdicts = verify.verify_claims(claims, chosen, specs, jobs, self.reporter, executor)
        if not store:
            return report.list_verdicts(verdicts, claims, specs)
        try:
            # The lock is acquired again for storing, because a restart of the server during the
            # computation would have released the first lock.
            with self._writing(task, wait=True) as engine, self._session(engine) as session:
                number = storage.save_claim_run(session, names, chosen, specs, verdicts).id
        except StarcastError as error:
            # The verdicts took time to compute, so they are shown together with the error.
            return report.list_verdicts(verdicts, claims, specs, "nothing is stored", error)
        stored = f"stored as verification run {number}"
        return report.list_verdicts(verdicts, claims, specs, stored)

    def claim_runs(self) -> Table:
        """List the stored verification runs: requested claims, code version, and verdict counts."""
        from starcast.claims import report

        with self._session() as session:
            return report.list_claim_runs(session)

    def claim_changes(
        self,
        before: Annotated[int | None, Shell(default="the run before AFTER")] = None,
        after: Annotated[int | None, Shell(default="the newest one")] = None,
    ) -> Table:
        """List the claims whose verdicts differ between two stored verification runs.

        A claim that has a verdict in only one of the runs is listed too, unless the later run did
        not request it. The table's note counts the claims that the later run did not request.

        Args:
            before: number of the earlier verification run; ``starcast claims runs`` lists the
                numbers.
            after: number of the later verification run.

        Raises:
            NotFoundError: no verification run with this number is stored.

        Example:
            $ starcast claims changed
            $ starcast claims changed 3 7
        """
        from starcast.claims import report

        with self._session() as session:
            return report.list_changes(session, before, after)

    def claim_report(self, *, run: RunNumber = None) -> ClaimReport:
        """Write a report on the claims that a stored verification run checked.

        The report has a summary for each paper, the failing claims with their corrected statements,
        and one row for each claim.

        Args:
            run: number of the verification run; ``starcast claims runs`` lists the numbers.

        Returns:
            The report, whose methods `markdown` and `html` return the text.

        Raises:
            NotFoundError: no verification run with this number is stored.

        Example:
            >>> page = lab.claim_report().html()

            $ starcast claims report --out claims.html
            $ starcast claims report --run 3 --format markdown
        """
        from starcast.claims import catalogue, storage
        from starcast.claims.report import OUTDATED, run_provenance

        with self._session() as session:
            found = storage.load_claim_run(session, run)
            verdicts = storage.load_verdicts(session, found.id)
            missing = storage.describe_missing_packs(session, found.id)
        loaded = catalogue.papers()
        verdicts = [each for each in verdicts if storage.paper_key(each.claim) in loaded]
        changed = [each.claim for each in verdicts if storage.is_outdated(found, each.claim)]
        verdicts = [each for each in verdicts if each.claim not in changed]
        outdated = f"{', '.join(changed)}: {OUTDATED}" if changed else ""
        about = run_provenance(found)
        if omitted := "; ".join(filter(None, (missing, outdated))):
            about["Omitted"] = omitted
            self.reporter.say(omitted)
        claims = pluralize(len(verdicts), "claim")
        subject = f"verification run {found.id}: {storage.describe_scope(found)}, {claims}"
        return ClaimReport(subject, verdicts, about)

    def new_paper(self, folder: Path) -> Path:
        """Create a folder for the claims of your paper, with example files to edit.

        The folder contains a claim that holds, a claim that fails, their checks, and a test.

        Args:
            folder: path of the new folder. The letters of the folder's name, in capitals, are the
                prefix of the claim ids.

        Returns:
            The path of the folder.

        Raises:
            InputError: the folder exists or cannot be written, its name has no letters, or the
                letters form the key of a built-in paper pack.

        Example:
            $ starcast claims new mypaper
            $ starcast --plugin mypaper claims check MYPAPER
        """
        from starcast.claims.pack_file import write_template

        key = write_template(folder)
        plugin = shlex.quote(str(folder))
        self.reporter.say(
            f"edit the files, then run 'starcast --plugin {plugin} claims check {key} --no-store'"
        )
        return folder

    def _select(self, names: Sequence[str]) -> "tuple[Claim, ...]":
        """Return the claims with the given ids or prefixes; report invalid paper packs."""
        from starcast.claims import catalogue

        for place, fault in catalogue.faults().items():
            self.reporter.say(f"the paper pack {place} is omitted: {fault.message}")
        return catalogue.select_claims(names)

    def _verdicts(self, *, demanded: bool = False) -> "report.StoredVerdicts | None":
        """Return the newest stored verdict of each claim, with its verification run.

        Unless verdicts are demanded, the result is None if the embedded server is not running or
        the schema of the store is not the newest; the reason is reported.

        Raises:
            UnavailableError: verdicts are demanded, and PostgreSQL is not running; or the
                PostgreSQL server that the settings name cannot be reached.
            RejectedError: verdicts are demanded, and the schema does not have the newest revision.
            NotFoundError: verdicts are demanded, and none is stored.
        """
        from starcast.claims.storage import newest_verdicts

        try:
            with self._session() as session:
                found = newest_verdicts(session)
        except (UnavailableError, RejectedError) as error:
            # Without stored verdicts, a filter by verdict would list no claims, as if none had this
            # verdict.
            if demanded:
                raise
            if isinstance(error, UnavailableError):
                # The embedded server may be stopped, but a server that the settings name must be
                # running.
                self._raise_if_configured(error)
                self.reporter.say(
                    "stored verdicts are not shown: the stack is not running"
                    " ('starcast up' starts it)"
                )
            else:
                self.reporter.say(f"no verdicts are shown: {error.message}; {error.hint}")
            return None
        if demanded and not found:
            raise NotFoundError(
                "no verdict is stored", hint="run 'starcast claims check' to store verdicts"
            )
        return found
