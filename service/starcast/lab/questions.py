"""The methods of a lab for queries and for the claims of the papers."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from starcast.errors import InputError
from starcast.lab.answers import Answer
from starcast.lab.connection import Connection
from starcast.support.integers import check_count
from starcast.support.table import Row, Table
from starcast.vocabulary import Level, VerdictWord

if TYPE_CHECKING:
    from starcast.claims import Verdict, listing
    from starcast.graph.connection import QueryResult
    from starcast.queries import Query


class Questions(Connection):
    """Questions to the graph, and to the papers."""

    def query(
        self,
        query: str | Path,
        parameters: Mapping[str, Any] | None = None,
        /,
        *,
        row_limit: int | None = None,
        timeout: float | None = None,
        **values: Any,
    ) -> Answer:
        """Run a query of a pack, a ``.cypher`` file, or a Cypher statement that only reads.

        Args:
            query: ``pack/name``, the path of a file, or Cypher. A file with a header is a query of
                a pack; without one it is a statement.
            parameters: values of its parameters by name, besides ``values``.
            row_limit: maximum number of rows; by default that of the settings.
            timeout: time limit in seconds; by default that of the settings.
            values: values of its parameters.

        Returns:
            The columns, the rows, and the Cypher that ran.

        Raises:
            NotFoundError: no such query exists, or an artifact that it names is not stored.
            InputError: a parameter is wrong, or the statement writes or is not valid.
            LimitError: time or memory ran out.
            UnavailableError: Neo4j is not running.

        Example:
            >>> lab.query("overlap/load-histogram", forest="S5:multiple:12345")["links"]
            [84, 316, 80]
            >>> lab.query("MATCH (t:Topology {spec: $s}) RETURN t.nodes AS nodes", s="S5").rows
            [{'nodes': 120}]
        """
        from starcast.queries import find, run
        from starcast.queries.execution import narrowing_advice
        from starcast.queries.pack import SUFFIX
        from starcast.queries.parameters import bind

        given = {**(parameters or {}), **values}
        limits = _Limits(row_limit=self.settings.row_limit, timeout=self.settings.timeout)
        if row_limit is not None:
            limits["row_limit"] = check_count("row_limit", row_limit)
        if timeout is not None:
            limits["timeout"] = _check_seconds(timeout)
        text = str(query)
        if _is_statement(text):
            return self._run_statement(text, given, Path("statement"), limits)
        if text.endswith(SUFFIX) and not _has_header(Path(text)):
            return self._run_statement(_read(Path(text)), given, Path(text), limits)
        found = find(text, *self.settings.packs)
        bound = bind(found.parameters, given)
        result = run(self.graph, found, bound, **limits)
        advice = f"{narrowing_advice(found)}, or raise row_limit"
        return _answer(result, found.cypher, bound, advice, found)

    def _run_statement(
        self, text: str, values: Mapping[str, Any], source: Path, limits: "_Limits"
    ) -> Answer:
        from starcast.queries.statement import run_statement

        result = run_statement(self.graph, text, values, **limits, source=source)
        return _answer(result, text, values, "add LIMIT, or raise row_limit")

    def queries(self, search: str | None = None) -> Table:
        """Return the queries with their parameters and measured seconds.

        Args:
            search: a pack, or a word in names, titles and questions; by default all queries.

        Raises:
            NotFoundError: no query matches.
        """
        from starcast.queries import load_library
        from starcast.queries.listing import list_queries

        return list_queries(load_library(*self.settings.packs).search(search))

    def check_query(self, query: str | Path) -> list[str]:
        """Return the problems that the planner of Neo4j finds in a query; nothing is executed.

        Raises:
            InputError: the file or its header is not valid.
            NotFoundError: no such query exists.
        """
        from starcast.queries import find
        from starcast.queries.plan import find_problems, has_indexes

        found = find(str(query), *self.settings.packs)
        return find_problems(self.graph, found, has_indexes(self.graph))

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

    def records(self, problem: str | None = None, *, stored: bool = False) -> Table:
        """Return the best known objects of the search problems.

        Args:
            problem: only the records of a problem, such as one-port-broadcast.
            stored: those in PostgreSQL; by default those in files, shipped and of the user.

        Raises:
            InputError: the problem is unknown, or a file is damaged.
        """
        from starcast.database.records import list_stored
        from starcast.records import listing as record_listing
        from starcast.search import find_problem

        if problem is not None:
            find_problem(problem)
        if stored:
            with self._session() as session:
                found = list_stored(session)
        else:
            found = record_listing.list_files(self._record_folders())
        rows = [row for row in found.rows if problem in (None, row["problem"])]
        return Table.of(rows, found.columns)

    def store_records(self, *, proof_seconds: float = 300.0) -> int:
        """Verify the records in files and store those that are better than what is stored.

        What was checked of each is stored with it, in the column ``verification``.

        Args:
            proof_seconds: time limit for making the proof of a bound again; 0 makes no proofs.

        Returns:
            The number of records that were written.

        Raises:
            RejectedError: a record is wrong; nothing is stored.
        """
        from starcast.database.records import store_all
        from starcast.records import listing as record_listing
        from starcast.search import Budget, check_record

        records = record_listing.load_files(self._record_folders())
        budget = Budget(proof_seconds) if proof_seconds else None
        checked = [check_record(record, budget) for record in records]
        with self._session() as session:
            return store_all(session, [(each.record, each.verification) for each in checked])

    def _record_folders(self) -> list[Path]:
        from starcast.records import known_folders

        return known_folders(self.settings.home)

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


def _is_statement(text: str) -> bool:
    """Return whether a text is Cypher rather than the name or file of a query."""
    from starcast.queries.pack import SUFFIX

    is_path = text.endswith(SUFFIX) and "\n" not in text
    return not is_path and any(character.isspace() for character in text.strip())


def _has_header(path: Path) -> bool:
    return _read(path).lstrip().startswith("//")


def _read(path: Path) -> str:
    from starcast.support.limited import read_text

    try:
        return read_text(path)
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text", hint="convert it to UTF-8") from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", hint="check its path and its mode"
        ) from None


class _Limits(TypedDict):
    row_limit: int
    timeout: float


def _check_seconds(timeout: Any) -> float:
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not is_number or not timeout > 0:
        raise InputError(f"timeout is {timeout!r}", hint="give a number of seconds greater than 0")
    return float(timeout)


def _answer(
    result: "QueryResult",
    cypher: str,
    values: Mapping[str, Any],
    advice: str,
    query: "Query | None" = None,
) -> Answer:
    note = f"only the first {len(result.rows):,} rows: {advice}" if result.more else ""
    return Answer(
        result.columns,
        result.rows,
        note,
        cypher=cypher,
        parameters=dict(values),
        more=result.more,
        _query=query,
    )
