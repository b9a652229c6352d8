"""Shell completion of names from the catalogues, and of ids from a running PostgreSQL.

A candidate is a word that the shell suggests. Completion prints no errors: if anything fails, such
as a connection, there are no candidates. The catalogues of constructions and algorithms need numpy,
so each catalogue is imported only when one of its names is completed.
"""

import io
import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, get_args

import typer

from starcast.support.vocabulary import LAYOUT_NAMES, Collective

#: The environment variable that Typer's completion scripts set when they call starcast.
VARIABLE = "_STARCAST_COMPLETE"
#: Time limit in seconds for reading ids from PostgreSQL.
PATIENCE = 1.0
#: Topologies to suggest; other topologies are valid too.
_TOPOLOGIES = (
    *(f"S{n}" for n in range(3, 11)),
    *(f"S{n},{k}" for n in range(4, 9) for k in range(2, n - 1)),
    *(f"Q{d}" for d in range(2, 13)),
)
_KINDS = ("topology", "forest", "schedule")
#: SQL statement that lists the ids of the stored artifacts of one kind. For the kind topology, it
#: also lists the specs and names of stored networks, because commands accept both.
_STORED = """
SELECT id FROM (
    SELECT kind, id FROM materialization
    UNION SELECT 'topology', unnest(ARRAY[name, spec]) FROM network
) AS stored WHERE kind = %s ORDER BY id
"""
_EXPERIMENTS = "SELECT name FROM experiment ORDER BY name"
_FIRST_TIME = '[[ $zsh_eval_context[-1] == loadautofunc ]] && _starcast_completion "$@"'
#: Characters at which bash splits words, and characters that need escapes in bash.
_BREAKS = frozenset(":=")
_SPECIAL = frozenset(" ()[]{}*?!;&|<>$`\"'\\#~")


def complete_and_exit(run: Callable[[], Any]) -> None:
    """Print the candidates that a shell's completion script asked for, and end the process.

    Args:
        run: function that runs the command line; in completion, it prints candidates and exits.
    """
    instruction = os.environ[VARIABLE]
    in_bash = instruction == "complete_bash"
    typed = _join_bash_words() if in_bash else ""
    printed = io.StringIO()
    status = 0
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        try:
            run()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except Exception:  # noqa: BLE001 - completion is silent
            status = 1
    lines = printed.getvalue().splitlines()
    try:
        for line in filter(None, lines):
            print(_for_bash(line, typed) if in_bash else line)
        sys.stdout.flush()
    finally:
        # `sys.exit` would wait for a query that is still running.
        os._exit(status)


def finish_installation() -> None:
    """Extend the zsh completion script, if it was just installed, so that the first Tab works.

    zsh loads the script when Tab is first pressed. Typer's script declares the completion function,
    but does not call it, so the first Tab would show no candidates.
    """
    script = Path.home() / ".zfunc" / "_starcast"
    if "--install-completion" in sys.argv and script.is_file():
        text = script.read_text(encoding="utf-8")
        if _FIRST_TIME not in text:
            script.write_text(f"{text}\n{_FIRST_TIME}\n", encoding="utf-8")


def _join_bash_words() -> str:
    """Join the words of the command line that bash has split at ``:`` and ``=``.

    Ids contain colons, and parameters of queries contain equals signs.

    Returns:
        The part of the last joined word that remains on the command line. In ``S5:mul``, bash
        replaces only ``mul`` by a candidate, so this part is ``S5:``.
    """
    words = os.environ.get("COMP_WORDS", "").split("\n")
    words = words[: int(os.environ.get("COMP_CWORD", "0")) + 1]
    # Click reads the words from COMP_WORDS. bash splits `S5:mul` into three words there, which must
    # be one word for Click.
    joined: list[str] = []
    may_continue = False
    for word in words:
        is_break = bool(word) and set(word) <= _BREAKS
        if joined and (is_break or may_continue):
            joined[-1] += word
        else:
            joined.append(word)
        may_continue = is_break
    os.environ["COMP_WORDS"] = "\n".join(joined)
    os.environ["COMP_CWORD"] = str(len(joined) - 1)
    return joined[-1] if may_continue else joined[-1].removesuffix(words[-1])


def _for_bash(candidate: str, typed: str) -> str:
    """Return the part of a candidate that bash inserts.

    Outside quotes, special characters are escaped.

    Args:
        candidate: the complete word, such as ``S5:multiple:12345``.
        typed: the part of the word that remains on the command line (see `_join_bash_words`).
    """
    given = typed.replace("\\", "")
    value = given.partition("=")[2] if given.startswith("--") else given
    rest = candidate.removeprefix(value)
    in_quotes = os.environ["COMP_WORDS"].rpartition("\n")[2].startswith(("'", '"'))
    if in_quotes:
        return rest
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in rest)


def problems(incomplete: str) -> list[str]:
    """Complete the name of a search problem, such as one-port-broadcast."""
    from starcast.records import PROBLEM_NAMES

    return [name for name in PROBLEM_NAMES if name.startswith(incomplete)]


def topologies(incomplete: str) -> list[str]:
    """Complete the spec of a common topology, such as S5."""
    return _matching(_TOPOLOGIES, incomplete)


def constructions(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the last item of a comma-separated list with the name of a construction.

    If the command line contains a topology, only constructions that are defined on this topology
    are suggested.
    """
    from starcast.trees.construction import constructions as names

    topology = ctx.params.get("topology") or ctx.params.get("source")
    return _in_list(names(topology if isinstance(topology, str) else None), incomplete)


def layouts(incomplete: str) -> list[str]:
    """Complete the name of a layout, which places the nodes in a drawing of a topology."""
    return _matching(LAYOUT_NAMES, incomplete)


def collectives(incomplete: str) -> list[str]:
    """Complete the name of a collective."""
    return _matching(get_args(Collective), incomplete)


def algorithms(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the last item of a comma-separated list with the name of an algorithm.

    If the command line contains a collective, only its algorithms are suggested.
    """
    from starcast.collectives.algorithm import algorithms as listed

    collective = ctx.params.get("collective")
    names = (each.name for each in listed(collective if isinstance(collective, str) else None))
    return _in_list(names, incomplete)


def schedules(incomplete: str) -> list[str]:
    """Complete the last item in a list of schedules, such as ``alltoall:exact``.

    The items are separated by commas.
    """
    from starcast.collectives.algorithm import algorithms as listed

    named = (f"{algorithm.collective}:{algorithm.name}" for algorithm in listed())
    return _in_list(("all", *(f"{name}:all" for name in get_args(Collective)), *named), incomplete)


def packs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a query pack, which is a folder of queries."""
    return _matching((name.partition("/")[0] for name in _query_names(ctx)), incomplete)


def queries(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a query, such as paths/tree-path."""
    return _matching(_query_names(ctx), incomplete)


def query_values(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete ``name=value`` for a parameter of the query named earlier in the command line.

    Values are suggested only for parameters whose values are ids of artifacts.
    """
    from starcast.queries import find

    query = find(str(ctx.params.get("query")), *_settings(ctx).packs)
    key, sign, _ = incomplete.partition("=")
    if not sign:
        return _matching((f"{parameter.name}=" for parameter in query.parameters), incomplete)
    kinds = [each.type.name for each in query.parameters if each.name == key]
    ids = (f"{key}={artifact_id}" for kind in kinds for artifact_id in _ask(ctx, _STORED, kind))
    return _matching(ids, incomplete)


def stored_topologies(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the spec of a stored topology, or the name of a stored network."""
    return _matching(_ask(ctx, _STORED, "topology"), incomplete)


def topologies_or_forests(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the spec of a topology or, if the word has a colon, the id of a stored forest."""
    names = _ask(ctx, _STORED, "forest") if ":" in incomplete else _TOPOLOGIES
    return _matching(names, incomplete)


def artifacts(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the id of a stored artifact.

    For a command of the group ``topology``, ``forest`` or ``schedule``, only ids of this kind are
    suggested.
    """
    kinds = [kind for kind in _KINDS if f" {kind} " in ctx.command_path] or _KINDS
    return _matching((each for kind in kinds for each in _ask(ctx, _STORED, kind)), incomplete)


def experiments(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a stored experiment."""
    return _matching(_ask(ctx, _EXPERIMENTS), incomplete)


def claims(incomplete: str) -> list[str]:
    """Complete the id of a claim, such as TS.L5."""
    from starcast.claims.catalogue import claim_entries

    return _matching(claim_entries(), incomplete)


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _in_list(names: Iterable[str], incomplete: str) -> list[str]:
    """Complete the last item of a comma-separated list with one of the names.

    Commas within parentheses separate arguments of a construction, not items.
    """
    head, comma, last = incomplete.rpartition(",")
    if head.count("(") > head.count(")"):
        # The cursor is inside the arguments of a construction, for which there are no candidates.
        return []
    return [f"{head}{comma}{name}" for name in _matching(names, last)]


def _settings(ctx: typer.Context) -> Any:
    from starcast.support.settings import Settings

    # Completion does not run the callback of the root command, which would store the global flags
    # in the context, so they are read from the parameters of the root command.
    flags = ctx.find_root().params
    return Settings.load(
        **{name: flags.get(name) for name in ("home", "neo4j_uri", "postgres_uri")}
    )


def _query_names(ctx: typer.Context) -> list[str]:
    from starcast.queries import load_library

    return list(load_library(*_settings(ctx).packs).queries)


def _ask(ctx: typer.Context, statement: str, *values: str) -> list[str]:
    """Run an SQL statement, and return the first column of its rows.

    If PostgreSQL cannot be reached or does not answer within `PATIENCE` seconds, the rows that were
    read until then are returned, usually none.
    """
    import psycopg

    from starcast.embedded.endpoints import store_url
    from starcast.stores.database.server_errors import conninfo

    target = conninfo(store_url(_settings(ctx)), connect_timeout=1, client_encoding="UTF8")
    rows: list[str] = []

    def read() -> None:
        with suppress(psycopg.Error), psycopg.connect(target) as connection:
            rows.extend(row[0] for row in connection.execute(statement, values))

    # `connect_timeout` does not limit the time of the statement, so a thread runs it, and the wait
    # for this thread is limited.
    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    # Return a copy, since the thread may still append to the list.
    return rows.copy()
