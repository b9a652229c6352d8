"""The server of ``starcast mcp``, which answers requests of MCP clients, such as AI agents.

The server speaks the Model Context Protocol (MCP) over stdin and stdout. The tools are read-only
operations of `Lab`, with the same docstrings and, except for `_NOT_ASKED`, the same parameters.
Operations run in worker processes, whose time and memory are limited.
"""

import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_args

import mcp_types
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resources import FileResource
from mcp.server.mcpserver.tools import Tool
from pydantic import Field, StrictFloat, StrictInt, ValidationError

from starcast.cli import operations
from starcast.lab import Lab
from starcast.stores.failures import LOG_LINES, translate
from starcast.support import log
from starcast.support.errors import InputError, StarcastError, UnavailableError, check_parameters
from starcast.support.installation import data_folder
from starcast.support.json_files import describe_error
from starcast.support.settings import Settings
from starcast.support.table import Table
from starcast.support.text import dump_json
from starcast.support.vocabulary import PATH_SUFFIXES
from starcast.web.workers import Workers

#: Maximum size of a tool's result in bytes; parts of a larger result are omitted.
MAX_ANSWER = 100_000
#: Seconds that a call may take in addition to the time limit of a query.
_EXTRA_SECONDS = 5.0
#: The operations that MCP clients can call as tools, in the order in which clients see them.
TOOLS: tuple[Callable[..., Any], ...] = (
    Lab.ask, Lab.query, Lab.queries, Lab.topologies, Lab.show_topology, Lab.constructions,
    Lab.show_forest, Lab.algorithms, Lab.simulate_schedule, Lab.cost_table, Lab.compare, Lab.claim,
)  # fmt: skip
#: Parameters of operations that are omitted from tools, because they name files, set limits, or
#: concern only Python or the command line.
_NOT_ASKED = {"drawable", "executor", "file_format", "max_rows", "row_limit", "timeout", "verify"}
#: The documentation pages that MCP clients can read as resources.
PAGES = (
    "glossary", "queries", "schema", "families", "algorithms", "your-network", "execution-models",
    "claim-rules",
)  # fmt: skip
_INSTRUCTIONS = (
    "starcast builds interconnection networks, spanning trees and schedules, and verifies them by"
    " execution. A topology is a spec such as S5, Q4 or Mesh4x5. `ask` runs Cypher on the stored"
    " graph; read the resource of the page `schema` first. `query` runs a query of a pack;"
    " `queries` lists these queries. The other tools compute, and need no stored data, except"
    " `compare` and `topologies`. The tools never change stored data."
)
#: Parameters that accept file paths in Python. Tools refuse values with a slash for these
#: parameters.
_NAMES = {"topology", "source", "construction", "algorithm"}
#: Patterns of the parts of docstrings that do not concern tools, which refuse files: about files,
#: the shell, objects of Python, and parameters in `_NOT_ASKED`.
_NOT_FOR_TOOLS = (
    r", or a file with a network",
    r"; a file that [^;]*(?=;)",
    r", or a schedule file, such as mine\.csv",
    r", a \.cypher file without a header, or - [^:]*(?=\.)",
    r", or a \.cypher file",
    r", or all for a schedule file",
    r"\s*Omit it for a forest from a file\.",
    r" or a file(?= are)",
    r": name=TEXT for a string[^.]*",
    r"; a list or a number can be written as JSON[^.]*'(?=\.)",
    r"; implied by ``verify``",
    r"\s*\bIn a shell, (?:[^\n]|\n(?!\n))*",
    r"\s*\bIn Python, [^.]*\.(?=\s|$)",
)
_SUFFIXES = (*PATH_SUFFIXES, ".cypher", ".goal", ".npz")


def serve(settings: Settings) -> None:
    """Answer the requests of the MCP client on stdin, until stdin is closed.

    Args:
        settings: the settings that name the servers.
    """
    workers = Workers(seconds=settings.timeout + _EXTRA_SECONDS)
    tools: list[Tool] = []
    for operation in TOOLS:

        def run(given: dict[str, Any], name: str = operation.__name__) -> str:
            return workers.run(_perform, settings, name, given)

        tool = _StrictTool.from_function(
            _make_tool(operation, run),
            structured_output=False,
            annotations=mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
        tool.parameters["additionalProperties"] = False
        tools.append(tool)
    server = MCPServer(
        "starcast",
        instructions=_INSTRUCTIONS,
        version=version("starcast"),
        log_level="WARNING",
        tools=tools,
    )
    for page in PAGES:
        path = data_folder("docs") / f"{page}.md"
        title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        uri = f"starcast://docs/{page}"
        server.add_resource(
            FileResource(uri=uri, name=page, title=title, path=path, mime_type="text/markdown")
        )
    try:
        server.run()
    finally:
        workers.close()


class _StrictTool(Tool):
    """A tool that checks its arguments; the SDK would ignore unknown parameters."""

    async def run(self, arguments: dict[str, Any], *others: Any, **options: Any) -> Any:
        """Run the tool, after checking its arguments.

        Raises:
            ToolError: an argument is not a parameter of the tool, or has a wrong type; or the
                operation failed.
        """
        try:
            check_parameters(f"the tool {self.name}", arguments, self.parameters["properties"])
            self.fn_metadata.validate_arguments(arguments)
        except InputError as error:
            raise _as_tool_error(error) from None
        except ValidationError as error:
            raise ToolError(f"an argument is invalid: {describe_error(error)}") from None
        return await super().run(arguments, *others, **options)


def _as_tool_error(error: StarcastError) -> ToolError:
    return ToolError(f"{error.message}; {error.hint}")


def _make_tool(operation: Callable[..., Any], run: Callable[[dict[str, Any]], str]) -> Any:
    """Return the function of an MCP tool, with the signature and docstring that clients see.

    Args:
        operation: the method of `Lab`.
        run: function that runs the operation in a worker process, and returns its result as JSON.
    """
    _, *known = signature(operation).parameters.values()
    about = operations.documented(operation, known)

    def tool(**given: Any) -> str:
        try:
            return run({name: value for name, value in given.items() if value is not None})
        except Exception as error:
            failure = translate(error, report=LOG_LINES)
            if type(failure) is StarcastError:
                log.error_event("tool failed", error, tool=operation.__name__)
            raise _as_tool_error(failure) from error

    asked = [
        _as_field(each, about.arguments.get(each.name, ""))
        for each in operations.expanded(known)
        if each.name not in _NOT_ASKED
    ]
    tool.__name__, tool.__doc__ = operation.__name__, _for_tools(about.text)
    tool.__signature__ = Signature(asked, return_annotation=str)  # type: ignore[attr-defined]
    tool.__annotations__ = {each.name: each.annotation for each in asked} | {"return": str}
    return tool


def _for_tools(text: str) -> str:
    return re.sub("|".join(_NOT_FOR_TOOLS), "", text)


def _as_field(parameter: Parameter, meaning: str) -> Parameter:
    """Convert a parameter of an operation to an optional or required parameter of a tool.

    As in Python, numbers can be JSON numbers, and a list of one string can be the string.

    Args:
        parameter: the parameter of the operation.
        meaning: the description of the parameter, which MCP clients see.
    """
    kind, shell = operations.kind_of(parameter.annotation)
    if shell.type is dict:
        kind = dict[str, Any]
    elif kind is str and shell.type is str:
        # The annotation of the operation is a string, such as "float | str | Fraction".
        is_number = "float" in str(get_args(parameter.annotation)[0])
        kind = str | StrictInt | StrictFloat if is_number else str
    elif kind == list[str]:
        kind = list[str] | str
    if parameter.kind is Parameter.VAR_POSITIONAL:
        kind = list[kind]  # type: ignore[valid-type]
    is_required = parameter.default is Parameter.empty and (
        parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
        or parameter.kind is Parameter.POSITIONAL_ONLY
        or shell.required
    )
    meaning = _for_tools(meaning)
    annotation: Any = Annotated[kind if is_required else kind | None, Field(description=meaning)]
    default = Parameter.empty if is_required else None
    return Parameter(parameter.name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _perform(settings: Settings, name: str, given: dict[str, Any]) -> str:
    """Run an operation in this worker process, and return its result as JSON.

    Raises:
        StarcastError: the operation raised this error, or an argument names a file.
    """
    for key, value in given.items():
        _refuse_file(key, value)
    operation = getattr(Lab, name)
    _, *known = signature(operation).parameters.values()
    try:
        return _write(operations.call(operation, _lab(settings), known, given))
    except UnavailableError:
        # The servers may have restarted on other ports, so the next call opens a new lab.
        _lab.cache_clear()
        raise


@cache
def _lab(settings: Settings) -> Lab:
    return Lab(settings)


def _refuse_file(name: str, value: Any) -> None:
    """Refuse file paths, because an MCP client must not read the user's files.

    Raises:
        InputError: the value is the path of a file, or ``-``, which is stdin.
    """
    if not isinstance(value, str):
        return
    # A Cypher statement contains white space, and may begin with a comment or end like a path.
    is_text = name not in _NAMES and any(map(str.isspace, value))
    is_path = value == "-" or value.startswith(("/", ".", "~")) or (name in _NAMES and "/" in value)
    is_path = not is_text and (is_path or value.lower().endswith(_SUFFIXES))
    if is_path or os.path.isfile(value):  # noqa: PTH113 - never raises
        raise InputError(f"MCP tools do not read files: '{value}'", hint="use a name or a spec")


def _write(result: Any) -> str:
    """Return a result as JSON of at most `MAX_ANSWER` bytes.

    If parts are omitted, the value ``note`` in the JSON describes them. If the result has a
    failure, such as a violation of the port model, the value ``failure`` describes it.
    """
    failure = getattr(result, "failure", None)
    reason = {} if failure is None else {"failure": f"{failure.message}; {failure.hint}"}
    if not isinstance(result, Table):
        facts = dict(result) if isinstance(result, Mapping) else {"text": str(result)}
        return _cut(facts | reason)
    rows, note = result.rows, result.note
    while len((text := dump_json({"rows": rows, "note": note, **reason})).encode()) > MAX_ANSWER:
        # Each round removes rows in proportion to the excess size, but at least one row.
        rows = rows[: min(len(rows) - 1, int(len(rows) * MAX_ANSWER / len(text)))]
        note = (
            f"only the first {len(rows):,} of {len(result.rows):,} rows fit: ask for fewer rows."
            f" {result.note}"
        ).strip()
        if not rows:
            note = f"each row is larger than {MAX_ANSWER:,} bytes: ask for fewer values"
            return dump_json({"rows": [], "note": note, **reason})
    return text


def _cut(facts: dict[str, Any]) -> str:
    """Return a dictionary as JSON, without its largest values if the text would be too long."""
    omitted = list[str]()
    while len((text := dump_json(facts)).encode()) > MAX_ANSWER:
        largest = max(facts, key=lambda name: len(dump_json(facts[name])))
        omitted.append(largest)
        facts = {name: value for name, value in facts.items() if name != largest}
        facts["note"] = f"omitted, because the result is too large: {', '.join(omitted)}"
    return text
