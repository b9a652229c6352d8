"""The operations on Cypher queries: list, show, run and check them, and create query files."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from starcast.lab.connection import Connection
from starcast.lab.results import Answer
from starcast.lab.signature import Shell, read_id
from starcast.support.errors import InputError, RejectedError, UnavailableError, unreadable
from starcast.support.table import Table
from starcast.support.text import pluralize

if TYPE_CHECKING:
    from starcast.queries import Query
    from starcast.stores.graph.connection import QueryResult

#: Largest allowed time limit in seconds.
_DAY = 86_400

QueryOrFile = Annotated[str | Path, Shell(str, completes="queries")]
QueryValues = Annotated[Mapping[str, Any] | None, Shell(dict, completes="query_values")]
RowLimit = Annotated[int | None, Shell(flag="--limit", default="the setting 'row_limit'")]
Timeout = Annotated[float | None, Shell(default="the setting 'timeout'")]


class Queries(Connection):
    """Operations that query the graph in Neo4j, and that list, show, create and check queries."""

    def queries(
        self, search: Annotated[str | None, Shell(metavar="PACK|WORD", completes="packs")] = None
    ) -> Table:
        """List the queries with their parameters, and measured times in seconds on S6, S7 and S8.

        Args:
            search: list only the queries of this pack, or the queries whose name, title or question
                contains this word (default: all queries).

        Raises:
            NotFoundError: no query matches.

        Example:
            $ starcast query list overlap
            $ starcast query list congestion
        """
        from starcast.queries import load_library
        from starcast.queries.pack import list_queries

        library = load_library(*self.settings.packs)
        skipped = (f"skipped: {each.message}; {each.hint}" for each in library.faults.values())
        return list_queries(library.search(search), "\n".join(skipped))

    def show_query(self, query: QueryOrFile) -> str:
        """Show a query file: its header, and a Cypher statement that also runs in Neo4j Browser.

        Args:
            query: name of a query, with or without its pack, such as overlap/load-histogram, or a
                .cypher file.

        Raises:
            NotFoundError: no query has this name.
            InputError: the query is invalid.
        """
        from starcast.queries import find
        from starcast.queries.pack import measurements

        found = find(str(query), *self.settings.packs)
        if sentence := measurements().describe(found):
            self.reporter.say(sentence)
        return found.text

    def query(
        self,
        query: QueryOrFile,
        parameters: QueryValues = None,
        /,
        *,
        row_limit: RowLimit = None,
        timeout: Timeout = None,
        drawable: Annotated[bool, Shell(format="svg")] = False,
        **values: Any,
    ) -> Answer:
        """Run a query and show its rows.

        The query runs in a read-only transaction, and reads only completely stored topologies,
        forests and schedules. Tables print paths hop by hop; json and csv contain them as lists. A
        drawing shows the nodes and links that the rows name; other links between these nodes are
        faint.

        Args:
            query: name of a query, with or without its pack, such as overlap/load-histogram, or a
                .cypher file. In Python, a Cypher statement is also accepted, as in `ask`.
            parameters: values of the query's parameters, such as topology=S5; a list or a number
                can be written as JSON after :=, such as sizes:='[1, 2]'. In Python, values can also
                be given as keyword arguments.
            row_limit: maximum number of rows that are shown.
            timeout: time limit in seconds.
            drawable: raise InputError before the query runs if the result cannot be drawn.
            values: values of the query's parameters, as keyword arguments.

        Returns:
            The columns, the rows, and the Cypher that ran.

        Raises:
            NotFoundError: no query has this name, or a topology, forest or schedule that a
                parameter names is not stored.
            InputError: the query or the value of a parameter is invalid.
            LimitError: the query exceeds the time limit or the memory limit of Neo4j.
            UnavailableError: Neo4j is not running.

        Example:
            >>> lab.query("overlap/load-histogram", forest="S5:multiple:12345")["links"]
            [73, 338, 69]
            >>> lab.query("MATCH (t:Topology {spec: $s}) RETURN t.nodes AS nodes", s="S5").rows
            [{'nodes': 120}]

            $ starcast query run shortest-paths topology=S4 source=1234 target=4321
            $ starcast query run neighbours topology=S4 node=1234 -f svg --out star.svg
        """
        from starcast.queries import find, run
        from starcast.queries.execution import narrowing_advice
        from starcast.queries.pack import SUFFIX
        from starcast.queries.parameters import STORED, bind

        name, given = str(query), {**(parameters or {}), **values}
        if _is_statement(name):
            return self._run_statement(name, "statement", given, row_limit, timeout)
        # A query file begins with a header, whose lines begin with `//`. A file without a header
        # contains a plain statement.
        if name.endswith(SUFFIX) and not (text := _read(name)).lstrip().startswith("//"):
            return self._run_statement(text, name, given, row_limit, timeout)
        rows, seconds = self._limits(row_limit, timeout)
        found = find(name, *self.settings.packs)
        for each in found.parameters:
            if each.type.name in STORED and each.name in given:
                given[each.name] = _read_ids(given[each.name], is_list=each.type.many)
        bound = bind(found.parameters, given)
        if drawable:
            from starcast.queries.picture import check_drawable

            # The check comes first, because the query might run until the time limit.
            check_drawable(found, bound)
        result = run(self.graph, found, bound, row_limit=rows, timeout=seconds)
        advice = narrowing_advice(found) if row_limit is None else ""
        return _answer(result, found.for_server(self.graph.version).cypher, advice, found)

    def ask(
        self,
        statement: str,
        parameters: QueryValues = None,
        /,
        *,
        row_limit: RowLimit = None,
        timeout: Timeout = None,
        **values: Any,
    ) -> Answer:
        """Run a read-only Cypher statement, and show its rows.

        The statement runs in a read-only transaction, with a row limit and a time limit. A
        statement that contains writing clauses or procedure calls is refused before it runs. Unlike
        a query of a pack, a statement can also read topologies, forests and schedules that are not
        yet completely stored. docs/schema.md lists the labels and properties of the graph.

        Args:
            statement: a Cypher statement, a .cypher file without a header, or - to read the
                statement from stdin.
            parameters: values of the statement's parameters: name=TEXT for a string; name:=JSON for
                a number, a list or a Boolean. In Python, values can also be given as keyword
                arguments.
            row_limit: maximum number of rows that are shown.
            timeout: time limit in seconds.
            values: values of the statement's parameters, as keyword arguments.

        Returns:
            The columns, the rows, and the Cypher that ran.

        Raises:
            InputError: the statement is invalid, could write or calls a procedure, or the given
                values do not match its parameters.
            LimitError: the query exceeds the time limit or the memory limit of Neo4j.
            UnavailableError: Neo4j is not running.

        Example:
            $ starcast query ask 'MATCH (t:Topology) RETURN t.spec AS spec, t.nodes AS nodes'
            $ starcast query ask 'MATCH (n:Node {label: $x}) RETURN n LIMIT $most' x=12345 most:=5
            $ starcast claims show TS.L5 --cypher | starcast query ask -
        """
        from starcast.queries.pack import is_file

        text, source = statement, "statement"
        if statement == "-" or (is_file(statement) and not _is_statement(statement)):
            text, source = _read(statement), "stdin" if statement == "-" else statement
        given = {**(parameters or {}), **values}
        # In Cypher the string '5' does not equal the number 5, so a number that is given as a
        # string probably matches nothing.
        for name, value in given.items():
            if isinstance(value, str) and value.isdecimal():
                self.reporter.say(
                    f"${name} is the string '{value}'; write {name}:={value} for a number"
                )
        return self._run_statement(text, source, given, row_limit, timeout)

    def _run_statement(
        self,
        text: str,
        source: str,
        values: Mapping[str, Any],
        row_limit: int | None,
        timeout: float | None,
    ) -> Answer:
        from starcast.queries.execution import find_unknown_names
        from starcast.queries.parameters import convert_value
        from starcast.queries.query import check_statement

        rows, seconds = self._limits(row_limit, timeout)
        cypher = check_statement(text, values, Path(source))
        values = {name: convert_value(name, value) for name, value in values.items()}
        result = self.graph.run(cypher, values, seconds, rows)
        # In Cypher a misspelled label or property is not an error, but it matches nothing, so it is
        # reported.
        for notice in find_unknown_names(result):
            self.reporter.say(notice)
        return _answer(result, text, "add LIMIT" if row_limit is None else "")

    def _limits(self, row_limit: Any, timeout: Any) -> tuple[int, float]:
        """Return the row limit and the time limit in seconds.

        A limit that is None is replaced by the limit in the settings.
        """
        if row_limit is None:
            row_limit = self.settings.row_limit
        elif not isinstance(row_limit, int) or row_limit < 1:
            raise InputError(
                f"invalid row limit {row_limit!r}",
                hint="use a positive integer",
            )
        if timeout is None:
            timeout = self.settings.timeout
        elif not isinstance(timeout, int | float) or not 0 < timeout <= _DAY:
            raise InputError(
                f"invalid time limit {timeout!r}",
                hint=f"use a positive number of seconds, at most {_DAY:,}",
            )
        return row_limit, timeout

    def check_queries(
        self, target: Annotated[str | Path | None, Shell(str, completes="queries")] = None
    ) -> Table:
        """Check query files, and how Neo4j would execute their queries.

        A query must return the columns that its header declares, and the execution plan of Neo4j
        must not contain warnings, Cartesian products, scans of all nodes or relationships, or
        writes. No query is executed. If Neo4j is not running, only the files are checked.

        Args:
            target: queries to check: the name of a query, a pack, a .cypher file, or a folder with
                a pack or with packs (default: all packs).

        Returns:
            A row for each problem, and a row with an empty problem for each query without problems.

        Raises:
            InputError: a file or its header is invalid.
            NotFoundError: no query has this name.

        Example:
            >>> lab.check_queries("overlap/shared-links")["problem"]
            ['']
        """
        from starcast.queries.execution import find_problems, has_indexes

        queries = _select(None if target is None else str(target), self.settings.packs)
        rows = [{"query": each.name, "file": str(each.path)} for each in queries]
        try:
            graph = self.graph
        except UnavailableError as error:
            files = pluralize(len(rows), "file is", "files are")
            note = f"{files} valid; plans were not checked: {error.message}; {error.hint}"
            return Table(("query", "file"), rows, note)
        # Without indexes, the plans of all queries scan all nodes, so scans are not reported as
        # problems of a query.
        ready = has_indexes(graph)
        checked = [
            {**row, "problem": problem}
            for row, each in zip(rows, queries, strict=True)
            for problem in find_problems(graph, each, ready) or [""]
        ]
        columns = ("query", "problem", "file")
        if wrong := dict.fromkeys(row["query"] for row in checked if row["problem"]):
            failure = RejectedError(
                f"the planner of Neo4j {graph.version} reports problems with {', '.join(wrong)}",
                hint="fix the problems in the column 'problem'",
            )
            return Table(columns, checked, failure=failure)
        note = f"{pluralize(len(rows), 'query is', 'queries are')} valid"
        if ready:
            note += f", and Neo4j {graph.version} plans them without problems"
        else:
            note += (
                f" for Neo4j {graph.version}; plans were not checked because the schema's indexes"
                " are missing: run 'starcast ingest S3' to create them"
            )
        return Table(columns, checked, note)

    def new_query(
        self,
        name: str,
        *,
        folder: Annotated[
            Path | None,
            Shell(default="the first folder in the setting 'packs', or the working directory"),
        ] = None,
    ) -> Path:
        """Create a query file from a template, with a header and a statement that can be run.

        Args:
            name: pack and name of the query, such as mine/load-of-links.
            folder: parent folder of your packs.

        Returns:
            The path of the file.

        Raises:
            InputError: the name is invalid, or the file exists or cannot be written.

        Example:
            $ starcast query new mine/load-of-links
            $ starcast query new mine/load-of-links --folder ~/packs
        """
        from starcast.queries.pack import write_template

        packs = self.settings.packs
        path = write_template(name, folder or next(iter(packs), Path()))
        file = shlex.quote(str(path))
        self.reporter.say(
            f"edit the file, then run 'starcast query check {file}' and 'starcast query run {file}'"
        )
        root = path.parent.parent.absolute()
        if root not in packs:
            folders = shlex.quote(os.pathsep.join(map(str, [*packs, root])))
            self.reporter.say(f"to run the query by name, set STARCAST_PACKS={folders}")
        return path


def _read_ids(given: Any, *, is_list: bool) -> Any:
    """Replace names of networks by specs in the value of a parameter that names artifacts."""
    if is_list and isinstance(given, str):
        given = given.split(",") if given else []
    if isinstance(given, list | tuple):
        return [_read_ids(each, is_list=False) for each in given]
    return read_id(given) if isinstance(given, str) else given


def _is_statement(text: str) -> bool:
    """Return whether a string is Cypher, not the name or the file of a query."""
    # A statement contains white space, and the name of a query does not. The path of a file may
    # contain white space, too.
    return any(map(str.isspace, text)) and not os.path.isfile(text)  # noqa: PTH113 - never raises


def _read(source: str) -> str:
    """Return the content of a file, or of stdin for ``-``."""
    from starcast.support.limited import SMALL_TEXT, LimitedStream, decode_text, read_text

    name = "stdin" if source == "-" else source
    try:
        if source == "-":
            # The size of a file is checked before reading. A pipe has no size, so the stream is
            # limited instead.
            return decode_text(LimitedStream(sys.stdin.buffer, SMALL_TEXT, name).read())
        return read_text(source)
    except ValueError:
        raise InputError(f"{name} is not valid UTF-8", hint="convert the text to UTF-8") from None
    except OSError as error:
        raise unreadable(name, error) from None


def _select(target: str | None, packs: Sequence[Path]) -> "Sequence[Query]":
    """Return the queries of a pack, of a folder or of all packs, or a single query.

    Raises:
        InputError: a query is invalid.
        NotFoundError: no query has this name.
    """
    from starcast.queries import find, load_library
    from starcast.queries.pack import SUFFIX, load_folder

    if target is not None and os.path.isdir(target):  # noqa: PTH112 - never raises
        return list(load_folder(Path(target).resolve()).values())
    if target is not None and target.endswith(SUFFIX):
        return [find(target)]
    library = load_library(*packs)
    if target is None:
        return list(library.require_valid().values())
    for name, fault in library.faults.items():
        if name.startswith(f"{target}/"):
            # `library.queries` contains only valid queries. Without this error, an invalid file in
            # the pack would be ignored.
            raise fault
    pack = [query for query in library.queries.values() if query.pack == target]
    return pack or [find(target, *packs)]


def _answer(
    result: "QueryResult", cypher: str, advice: str, query: "Query | None" = None
) -> Answer:
    count = len(result.rows)
    shown = f"only the first {count:,} rows are shown" if count > 1 else "only one row is shown"
    if advice:  # `advice` is empty if the caller has chosen the row limit
        shown = f"{shown}: {advice}, or raise the row limit"
    return Answer(
        result.columns,
        result.rows,
        shown if result.more else "",
        cypher=cypher,
        parameters=dict(result.parameters),
        more=result.more,
        _query=query,
    )
