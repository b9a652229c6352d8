"""Read the nodes and links of networks from the text of a file, by file format.

If a format has lines, error messages name the line. Node and link counts in headers are compared
with the content, and do not determine how much memory is allocated.
"""

import csv
import re
import warnings
from ast import literal_eval
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import pairwise, zip_longest
from types import MappingProxyType
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError
from starcast.support.installation import import_library
from starcast.support.json_files import parse_json
from starcast.support.limited import DAMAGE
from starcast.support.text import pluralize
from starcast.support.vocabulary import NetworkFormat
from starcast.topologies import memory
from starcast.topologies.network_building import LinkList

#: Pairs of column names in an edge list that identify the two columns with the ends of links.
_HEADS = (
    ("source", "target"), ("from", "to"), ("src", "dst"), ("fromnodeid", "tonodeid"),
    ("node1", "node2"), ("u", "v"),
)  # fmt: skip
_THIRD = (
    "a third value can be a capacity or a weight: name the columns in the first line, such as "
    "'source target capacity' or 'source target weight', or remove the values"
)
_COMPLETE = "the file is damaged or incomplete: write it again"
_ONE_GRAPH = "use a file with one graph"
_NUMBER = re.compile(r"[0-9]{1,12}")
_MAX_LINE = 4096
#: Patterns for the end of a line in an edge list. `_LIST_MARK` matches the beginning of a comment
#: or of a link's attributes, `_LIST_COMMENT` a whole comment, and `_LIST_ATTRIBUTES` attributes as
#: NetworkX writes them, with or without a comment after them.
_LIST_MARK = re.compile(r"^\s*[#%]|\s[#{]")
_LIST_COMMENT = re.compile(r"^\s*[#%].*|\s#.*")
_LIST_ATTRIBUTES = re.compile(
    r"""\s(\{(?:[^'"]|'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")*?\})\s*(?:#.*)?$"""
)
_PAJEK_WORD = re.compile(r'"([^"]*)"|(\S+)')
_DOT_ID = r'(?:"(?:[^"\\]|\\.)*+"|[\w.]+)'
_DOT_COMMENT = r"//[^\n]*|/\*.*?\*/|^\#[^\n]*"
_DOT_HEAD = re.compile(
    rf"(?:\s|{_DOT_COMMENT})*+(strict\s+)?(graph|digraph)\b\s*{_DOT_ID}?\s*\{{",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_DOT_END = re.compile(rf"({_DOT_ID})(?::{_DOT_ID})*")
_DOT_ATTRIBUTE = re.compile(rf"({_DOT_ID})\s*=\s*(-?{_DOT_ID})")
_DOT_LISTED = re.compile(
    rf"[\s;,]+|{_DOT_COMMENT}|{_DOT_ATTRIBUTE.pattern}", re.DOTALL | re.MULTILINE
)
#: Pattern of a part of a DOT file: blanks, a comment, a graph attribute, or nodes (joined by links)
#: with attributes.
_DOT_STATEMENT = re.compile(
    rf"[\s;,]+|{_DOT_COMMENT}|{_DOT_ATTRIBUTE.pattern}"
    rf"|(?P<ends>{_DOT_END.pattern}(?:\s*(?:--|->)\s*{_DOT_END.pattern})*)"
    r'\s*(?:\[(?P<attributes>(?:[^\]"]|"(?:[^"\\]|\\.)*+")*+)\])?',
    re.DOTALL | re.MULTILINE,
)
_ANYNET_END = re.compile(r"(?<!\S)(router|node)\s+(\d{1,12})(?:\s+(\d{1,18}))?(?!\S)")
_PajekLine = tuple[str, str, int, list[tuple[str, str]]]
_PAJEK_SECTIONS = ("*network", "*vertices", "*edges", "*arcs")
_SIX_BITS = re.compile(r"[?-~]+")
#: Estimated memory for NetworkX objects, in bytes per byte of the file.
_OBJECTS = 50
#: Link attributes that are ignored without a message, because a network assigns its own values.
LINK_IDS = {"id", "key", "label", "port"}


class GraphFile:
    """The text of a file, and the nodes and links that a reader finds in it.

    Attributes:
        text: the content of the file.
        has_weights: whether third values in the lines of an edge list are link weights.
        unused: descriptions of the kinds of data in the file that networks do not use.
        capacity_unit: the attribute ``capacity_unit`` of the graph, or None.
    """

    def __init__(self, text: str, *, has_weights: bool = False) -> None:
        self.text = text
        self.has_weights = has_weights
        self.unused = set[str]()
        self.capacity_unit: Any = None
        self._numbers: dict[str, int] = {}
        self._attributes: dict[int, Mapping[str, Any]] = {}
        self._pairs: list[tuple[int, int]] = []
        self._lines: list[int] = []
        self._link_attributes: list[Mapping[str, Any]] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def add_node(self, node: str, attributes: Mapping[str, Any] | None = None) -> int:
        """Add a node if it is new, set its attributes if any are given, and return its number."""
        number = self._numbers.setdefault(node, len(self._numbers))
        if attributes:
            self._attributes[number] = attributes
        return number

    def add_link(
        self,
        u: str,
        v: str,
        line: int | None = None,
        attributes: Iterable[tuple[Any, Any]] = (),
    ) -> None:
        """Add a link between two nodes.

        Args:
            u: one end of the link; it is added if it is new.
            v: the other end.
            line: the number of the link's line, if the format has lines.
            attributes: the names and values of the link's attributes.
        """
        self._pairs.append((self.add_node(u), self.add_node(v)))
        self._link_attributes.append({str(key).lower(): value for key, value in attributes})
        if line is not None:
            self._lines.append(line)

    def links(self, *, is_directed: bool = False) -> LinkList:
        """Return all nodes and links that were added.

        Args:
            is_directed: whether the file must list each link in both directions.
        """
        nodes = list(self._numbers)
        attributes = [self._attributes.get(number, {}) for number in range(len(nodes))]
        attributes = attributes if self._attributes else []
        values = self._link_attributes if any(self._link_attributes) else []
        return LinkList(
            nodes, self._pairs, is_directed, attributes, self._lines, values, self.capacity_unit
        )

    def lines(self, comment: str) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each line that does not begin with a comment mark."""
        for number, line in enumerate(self.text.removesuffix("\n").split("\n"), start=1):
            if not line.lstrip().startswith(comment):
                yield number, line


def fail_at(line: int, problem: str, hint: str = _COMPLETE) -> NoReturn:
    """Raise an error about a line of a file; ``problem`` follows "line N " in the message."""
    raise InputError(f"line {line} {problem}", hint=hint)


def read_number(text: str, line: int) -> int:
    """Parse a non-negative integer in the line of a file.

    Raises:
        InputError: the text is not a non-negative integer of up to twelve digits.
    """
    if not _NUMBER.fullmatch(text):
        fail_at(line, f"has '{text}' instead of a number")
    return int(text)


def _read_node(text: str, line: int, nodes: int | None) -> str:
    """Parse the number of a node, and return it as a string without leading zeros.

    Raises:
        InputError: the text is not a non-negative integer or, unless ``nodes`` is None, not a
            number from 1 to ``nodes``.
    """
    number = read_number(text, line)
    if nodes is not None and not 1 <= number <= nodes:
        fail_at(line, f"names the node {number}, but nodes are numbered from 1 to {nodes:,}")
    return str(number)


def _read_edges(file: GraphFile) -> LinkList:
    rows, dictionaries = [], dict[int, Mapping[Any, Any]]()
    for number, line in enumerate(file.text.split("\n"), start=1):
        if len(line) > _MAX_LINE:
            fail_at(
                number, f"has more than {_MAX_LINE:,} characters", "write two nodes in each line"
            )
        mark = _LIST_MARK.search(line)
        attributes = _LIST_ATTRIBUTES.match(line, mark.start()) if mark else None
        text = line[: attributes.start()] if attributes else _LIST_COMMENT.sub("", line)
        if words := text.split():
            rows.append((number, words))
            if attributes:
                dictionaries[number] = _read_attributes(attributes[1], number)
    return _read_rows(file, rows, dictionaries)


def _read_attributes(text: str, line: int) -> Mapping[Any, Any]:
    """Return the attributes of a link, which NetworkX writes after the link as a dictionary."""
    try:
        found = literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, dict):
        fail_at(line, "does not end with the attributes of a link", "write {'capacity': 3}")
    return found


def _read_csv(file: GraphFile) -> LinkList:
    # Comments are replaced by empty lines, so that the line numbers in messages remain correct.
    lines = ["" if line.lstrip()[:1] in ("#", "%") else line for line in file.text.split("\n")]
    head = next((line for line in lines if line.strip()), "")
    separator = max(",;\t", key=head.count)
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    rows = []
    try:
        for row in reader:
            words = [word.strip() for word in row]
            # Empty cells at the end of a line, such as after a final separator, are ignored.
            while words and not words[-1]:
                words.pop()
            if words:
                rows.append((reader.line_num, words))
    except csv.Error as error:
        fail_at(reader.line_num, f"is not CSV: {error}")
    return _read_rows(file, rows)


def _read_rows(
    file: GraphFile,
    rows: Sequence[tuple[int, list[str]]],
    dictionaries: Mapping[int, Mapping[Any, Any]] = MappingProxyType({}),
) -> LinkList:
    columns, width = (0, 1), 3 if file.has_weights else 2
    others = [(2, "weight")]
    if head := _find_head(rows):
        line, names = rows[0]
        columns, width = head, len(names)
        # A column without a name, such as the index of a data frame, is not read.
        others = [(at, name) for at, name in enumerate(names) if name and at not in head]
        for name, count in Counter(name.lower() for name in names if name).items():
            if count > 1:
                fail_at(line, f"names the column '{name}' twice", "rename one of the columns")
        rows = rows[1:]
    for line, words in rows:
        if width == 2 < len(words):
            fail_at(line, f"has {len(words)} values", _THIRD)
        if not max(columns) < len(words) <= width or not all(words[column] for column in columns):
            found = pluralize(len(words), "value")
            fail_at(line, f"has {found} instead of two nodes", "write two nodes in each line")
        values = [(name, words[at]) for at, name in others if at < len(words) and words[at]]
        values += dictionaries.get(line, {}).items()
        file.add_link(words[columns[0]], words[columns[1]], line, values)
    return file.links()


def _find_head(rows: Sequence[tuple[int, list[str]]]) -> tuple[int, int] | None:
    """Return the indices of the two node columns if the first row has column names, else None.

    If a later row has a node whose name is in the first row, the first row is not a header.
    """
    names = [name.lower() for name in rows[0][1]] if rows else []
    for first, second in _HEADS:
        if {first, second} <= set(names):
            columns = names.index(first), names.index(second)
            break
    else:
        numbers = [
            word.isdigit() and not name.isdigit()
            for _, words in rows[1:]
            for name, word in zip(names, words, strict=False)
        ]
        if len(names) != 2 or not numbers or not all(numbers):
            return None
        columns = 0, 1
    heads = {rows[0][1][column] for column in columns}
    nodes = {words[column] for _, words in rows[1:] for column in columns if column < len(words)}
    return None if heads & nodes else columns


def _read_adjacency(file: GraphFile) -> LinkList:
    lines_of = defaultdict[tuple[str, str], list[int]](list)
    for line, text in file.lines("#"):
        node, *others = re.sub(r"\s#.*", "", text).split() or [""]
        if node:
            file.add_node(node)
        for other in others:
            lines_of[node, other].append(line)
    for (u, v), lines in lines_of.items():
        # A link may be listed at one or both of its nodes. If both list the link, it is counted at
        # the node that lists it more often.
        reverse = lines_of.get((v, u), [])
        if (len(reverse), u) <= (len(lines), v):
            for line in lines:
                file.add_link(u, v, line)
    return file.links()


def _read_metis(file: GraphFile) -> LinkList:
    lines = file.lines("%")
    first, words = next(((line, text.split()) for line, text in lines if text.strip()), (1, []))
    counts = [read_number(word, first) for word in words]
    if not 2 <= len(counts) <= 4:
        fail_at(first, "does not begin with the numbers of nodes and links")
    nodes, links, form, weights = [*counts, *(0, 1)[len(counts) - 2 :]]
    # The three digits of the header's third number show whether the file has node sizes, node
    # weights and link weights.
    skipped = form // 100 % 10 + form // 10 % 10 * weights
    step = 2 if form % 10 else 1
    if skipped:
        file.unused.add("weights of nodes")
    rows = [(line, text.split()) for line, text in lines]
    while rows and not rows[-1][1] and len(rows) > nodes:
        rows.pop()
    if len(rows) != nodes:
        fail_at(first, f"declares {pluralize(nodes, 'node')}; the file has {len(rows):,}")
    for node in range(1, nodes + 1):
        file.add_node(str(node))
    for node, (line, row) in enumerate(rows, start=1):
        own = row[skipped + 1 :: step] if step == 2 else []
        for word, weight in zip_longest(row[skipped::step], own):
            other = _read_node(word, line, nodes)
            if step == 2 and weight is None:
                fail_at(line, f"has no weight of the link to {other}")
            values = [] if weight is None else [("weight", read_number(weight, line))]
            file.add_link(str(node), other, line, values)
    found = file.links(is_directed=True)
    if len(found.pairs) != 2 * links:
        fail_at(
            first,
            f"declares {pluralize(links, 'link')}; the file lists {len(found.pairs):,} neighbours",
            "list each link in the lines of both of its nodes",
        )
    return found


def _read_matrix_market(file: GraphFile) -> LinkList:
    kind = file.text.partition("\n")[0].lower().split()[1:]
    if kind[:2] != ["matrix", "coordinate"] or len(kind) < 4:
        fail_at(1, "does not declare a sparse matrix", "write the matrix in coordinate format")
    rows = [(line, text.split()) for line, text in file.lines("%") if text.strip()]
    first, sizes = rows[0] if rows else (1, [])
    if len(sizes) != 3:
        fail_at(first, "does not state the numbers of rows, columns and entries")
    height, width, entries = (read_number(word, first) for word in sizes)
    if height != width:
        fail_at(first, f"declares a matrix of {height:,} rows and {width:,} columns")
    if len(rows) - 1 != entries:
        fail_at(
            first,
            f"declares {pluralize(entries, 'entry', 'entries')}; the file has {len(rows) - 1:,}",
        )
    for line, words in rows[1:]:
        ends = [read_number(word, line) for word in words[:2]]
        if len(ends) < 2 or not 1 <= min(ends) <= max(ends) <= height:
            fail_at(line, f"does not begin with a row and a column from 1 to {height:,}")
        values = [("weight", word) for word in words[2:3]] if kind[2] != "pattern" else []
        file.add_link(str(ends[0]), str(ends[1]), line, values)
    check_count(file, first, height)
    return file.links(is_directed=kind[3] == "general")


def check_count(file: GraphFile, line: int, nodes: int) -> None:
    """Check that the reader has found at least as many nodes as the header of the file declares.

    Args:
        file: the file, with all nodes and links that the reader has found.
        line: the line of the header, for the message.
        nodes: the number of nodes in the header.

    Raises:
        InputError: the header declares more nodes.
    """
    if nodes > len(file):
        fail_at(
            line,
            f"declares {pluralize(nodes, 'node')}; the number of nodes with links is {len(file):,}",
            "remove the nodes without links",
        )


def _read_anynet(file: GraphFile) -> LinkList:
    terminals, has_latencies = Counter[str](), False
    # The latency of each directed link, and its line. If the file lists a link several times, the
    # last latency counts, as in BookSim.
    latencies = dict[tuple[str, str], tuple[int, int]]()
    for line, text in file.lines("#"):
        if rest := _ANYNET_END.sub("", text).strip():
            fail_at(line, f"has the text '{rest}'", "write 'router' or 'node' before each number")
        ends = [(kind, str(int(number)), last) for kind, number, last in _ANYNET_END.findall(text)]
        for kind, number, latency in ends[1:]:
            routers = [end for name, end in (ends[0][:2], (kind, number)) if name == "router"]
            if len(routers) == 2:
                # BookSim sets a missing latency to 1.
                latencies[routers[0], routers[1]] = int(latency or 1), line
            elif routers:
                file.add_node(routers[0])
                terminals[routers[0]] += 1
            has_latencies = has_latencies or bool(latency)
    for (u, v), (cycles, line) in latencies.items():
        reverse, _ = latencies.get((v, u), (1, line))
        if cycles != reverse:
            fail_at(
                line,
                f"has a link from router {u} to router {v} with the latency {cycles}, but"
                f" the link back has {reverse}",
                "write the latency in the lines of both routers: it applies to one direction only",
            )
        if (v, u) not in latencies or u <= v:
            file.add_link(u, v, line, [("latency", cycles)])
    found = file.links()
    # Routers without a terminal become switches, unless fewer than two endpoints would remain.
    switches = []
    if len(terminals) > 1:
        switches = [{} if terminals[router] else {"switch": True} for router in found.nodes]
    if max(terminals.values(), default=0) > 1:
        file.unused.add("additional nodes of routers")
    elif len(terminals) == 1:
        file.unused.add("nodes of routers")
    return found._replace(
        attributes=switches, link_attributes=found.link_attributes if has_latencies else []
    )


def _read_pajek(file: GraphFile) -> LinkList:
    section, count, first = "", 0, 1
    edges, arcs = list[_PajekLine](), list[_PajekLine]()
    for line, text in file.lines("%"):
        words = [match[1] or match[2] or "" for match in _PAJEK_WORD.finditer(text)]
        if not words:
            continue
        if words[0].startswith("*"):
            section = words[0].lower()
            if section not in _PAJEK_SECTIONS:
                hint = f"use {', '.join(_PAJEK_SECTIONS)}"
                fail_at(line, f"begins the section '{words[0]}', which is not supported", hint)
            if section == "*vertices":
                if count:
                    fail_at(line, "begins a second graph", _ONE_GRAPH)
                count, first = read_number(words[1] if len(words) > 1 else "", line), line
        elif section == "*vertices":
            attributes = dict(zip(("label", "x", "y"), words[1:], strict=False))
            before = len(file)
            file.add_node(_read_node(words[0], line, count), attributes)
            if len(file) == before:
                fail_at(line, f"repeats the node {words[0]}", "give every node one line")
        else:
            u, v = (_read_node(word, line, count or None) for word in [*words[:2], ""][:2])
            values = [("weight", word) for word in words[2:3]]
            (edges if section == "*edges" else arcs).append((u, v, line, values))
    for u, v, line, values in edges:
        file.add_link(u, v, line, values)
        if arcs:
            file.add_link(v, u, line, values)
    for u, v, line, values in arcs:
        file.add_link(u, v, line, values)
    check_count(file, first, count)
    return file.links(is_directed=bool(arcs))


def _read_graph6(file: GraphFile) -> LinkList:
    nodes, body = _read_size(file.text.strip().removeprefix(">>graph6<<"))
    pairs = nodes * (nodes - 1) // 2
    if len(body) != -(-pairs // 6):
        raise InputError(
            f"the file has {pluralize(len(body), 'character')} for the links of {nodes:,} nodes"
            f" instead of {-(-pairs // 6):,}",
            hint=_COMPLETE,
        )
    filled = np.flatnonzero(body)
    shifts = np.arange(5, -1, -1)
    places = (6 * filled[:, None] + 5 - shifts)[body[filled, None] >> shifts & 1 == 1]
    # The upper triangle is stored column by column: (0,1), (0,2), (1,2), (0,3), ...
    places = places[places < pairs]
    columns = np.arange(nodes, dtype=np.int64)
    starts = columns * (columns - 1) // 2
    second = np.searchsorted(starts, places, side="right") - 1
    first = places - starts[second]
    links = list(zip(first.tolist(), second.tolist(), strict=True))
    return LinkList([str(node) for node in range(nodes)], links)


def _read_size(text: str) -> tuple[int, NDArray[np.uint8]]:
    """Return the number of nodes in a graph6 or sparse6 text, and the six-bit values after it."""
    if not _SIX_BITS.fullmatch(text):
        raise InputError("the file is not a single line of graph6 or sparse6", hint=_ONE_GRAPH)
    values = np.frombuffer(text.encode(), dtype=np.uint8) - np.uint8(63)
    # The value 63 precedes a size above 62; two values 63 precede a size above 258,047.
    marks = int((values[:2] == 63).cumprod().sum())
    digits = (1, 3, 6)[marks]
    size = 0
    for value in values[marks : marks + digits].tolist():
        size = size << 6 | value
    return size, values[marks + digits :]


def _read_json(file: GraphFile) -> LinkList:
    try:
        content = parse_json(file.text.encode(), "the file")
    except ValueError as error:
        raise InputError(f"the file is not JSON: {error}", hint=_COMPLETE) from None
    content = content if isinstance(content, dict) else {}
    nodes: Any = content.get("nodes")
    links: Any = content.get("links", content.get("edges"))
    if isinstance(attributes := content.get("graph"), dict):
        file.capacity_unit = attributes.get("capacity_unit")
    for name, items in (("nodes", nodes), ("links", links)):
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise InputError(
                f"the file has no list of JSON objects under the key '{name}'",
                hint="write node-link JSON, as `networkx.node_link_data` returns it",
            )
    for number, node in enumerate(nodes):
        file.add_node(_json_id(node.get("id", number)), node)
    for number, link in enumerate(links, start=1):
        ends = [_json_id(link.get(end)) for end in ("source", "target")]
        values = ((key, value) for key, value in link.items() if key not in ("source", "target"))
        before = len(file)
        file.add_link(ends[0], ends[1], attributes=values)
        if len(file) > before:
            raise InputError(
                f"link {number:,} joins '{ends[0]}' to '{ends[1]}', of which at least one is not a"
                " node",
                hint="write the 'id' of two nodes as 'source' and 'target'",
            )
    if len(file) < len(nodes):
        raise InputError("two nodes have the same id", hint="give every node a different 'id'")
    return file.links(is_directed=bool(content.get("directed")))


def _json_id(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _read_dot(file: GraphFile) -> LinkList:
    head = _DOT_HEAD.match(file.text)
    if not head:
        fail_at(1, "does not begin a graph", "begin with 'graph {' or 'digraph {'")
    line, place = 1 + head[0].count("\n"), head.end()
    is_directed = head[2].lower() == "digraph"
    # The attributes of the graph, and the default attributes of all later nodes and links.
    defaults: dict[str, dict[str, str]] = {"graph": {}, "node": {}, "edge": {}}
    nodes = dict[str, dict[str, str]]()
    links = list[tuple[str, str, int, dict[str, str]]]()
    while statement := _DOT_STATEMENT.match(file.text, place):
        given = _DOT_END.findall(statement["ends"] or "")
        ends = [_unquote(end) for end in given]
        listed = statement["attributes"] or ""
        if rest := _DOT_LISTED.sub("", listed):
            fail_at(
                line,
                f"has '{rest[:40]}' among attributes",
                "write attributes as name=value, with other text in quotes",
            )
        values = _DOT_LISTED.findall(listed)
        attributes = {_unquote(key): _unquote(value) for key, value in values if key}
        if statement[1]:
            defaults["graph"][_unquote(statement[1])] = _unquote(statement[2])
        if len(ends) == 1 and given[0].lower() in defaults:
            defaults[given[0].lower()] |= attributes
        else:
            for end in ends:
                file.add_node(end, nodes.setdefault(end, dict(defaults["node"])))
            if len(ends) == 1:
                nodes[ends[0]] |= attributes
                file.add_node(ends[0], nodes[ends[0]])
        for u, v in pairwise(ends):
            links.append((u, v, line, defaults["edge"] | attributes))
        line, place = line + statement[0].count("\n"), statement.end()
    if (mark := file.text[place : place + 1]) != "}":
        found = f"has '{mark}' outside of quotes" if mark else "ends without '}'"
        fail_at(line, found, "remove subgraphs, and write other text in quotes")
    rest = re.sub(_DOT_COMMENT, "", file.text[place + 1 :], flags=re.DOTALL | re.MULTILINE)
    if rest.strip():
        fail_at(line, "ends the graph, but more text follows", _ONE_GRAPH)
    if head[1]:
        links = _merge_links(links, is_directed)
    for u, v, number, attributes in links:
        file.add_link(u, v, number, attributes.items())
    for node, own in nodes.items():
        if "label" in own:
            # In a label, Graphviz replaces \N by the name of the node.
            own["label"] = own["label"].replace(r"\N", node)
    file.capacity_unit = defaults["graph"].get("capacity_unit")
    return file.links(is_directed=is_directed)


def _merge_links(
    links: Iterable[tuple[str, str, int, dict[str, str]]], is_directed: bool
) -> list[tuple[str, str, int, dict[str, str]]]:
    """Merge the links of a strict DOT graph, which has at most one link between two nodes."""
    merged: dict[tuple[str, str], tuple[str, str, int, dict[str, str]]] = {}
    for u, v, line, attributes in links:
        key = (u, v) if is_directed else (min(u, v), max(u, v))
        merged.setdefault(key, (u, v, line, {}))[3].update(attributes)
    return list(merged.values())


def _unquote(word: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", word[1:-1]) if word.startswith('"') else word


def _read_graphml(file: GraphFile) -> Any:
    text = _check_xml(file.text)
    return _load(file, "GraphML", lambda nx: nx.parse_graphml(text))


def _read_gexf(file: GraphFile) -> Any:
    text = _check_xml(file.text)
    return _load(file, "GEXF", lambda nx: nx.read_gexf(BytesIO(text.encode())))


def _read_gml(file: GraphFile) -> Any:
    # Without `multigraph`, NetworkX refuses parallel links. The word is inserted without a new
    # line, so that the line numbers in messages remain correct.
    text = re.sub(r"(?m)^([ \t]*graph\s*\[)", r"\1 multigraph 1 ", file.text, count=1)
    return _load(file, "GML", lambda nx: nx.parse_gml(text, label=None))


def _read_sparse6(file: GraphFile) -> Any:
    text = file.text.strip().removeprefix(">>sparse6<<")
    nodes, body = _read_size(text.removeprefix(":"))
    # A link takes at least two bits, and connecting N nodes takes at least N - 1 links.
    if nodes > 3 * len(body) + 1:
        raise InputError(
            f"the file has {pluralize(len(body), 'character')}, too few to connect {nodes:,} nodes",
            hint=_COMPLETE,
        )
    return _load(file, "sparse6", lambda nx: nx.from_sparse6_bytes(text.encode()))


def _check_xml(text: str) -> str:
    """Check an XML text, and return it without its declaration, which may name another encoding.

    Raises:
        InputError: the text is not XML, declares a document type, has several graphs, repeats the
            id of a node or of a link, or has a link to a node that does not exist.
    """
    #: For each graph in the text, whether it is directed.
    graphs = list[bool]()
    nodes, keys = set[str](), set[tuple[str, ...]]()
    links = list[tuple[int, str, str]]()

    def check_element(line: int, name: str, values: dict[str, str]) -> None:
        kind = name.rpartition(":")[2]
        if kind == "graph":
            graphs.append("directed" in (values.get("edgedefault"), values.get("defaultedgetype")))
            if len(graphs) > 1:
                fail_at(line, "begins a second graph", _ONE_GRAPH)
        elif kind == "node":
            if (node := values.get("id", "")) in nodes:
                fail_at(line, f"repeats the node '{node}'", "give every node a different `id`")
            nodes.add(node)
        elif kind == "edge":
            u, v = values.get("source", ""), values.get("target", "")
            links.append((line, u, v))
            ends = (u, v) if graphs == [True] else sorted((u, v))
            key = (*ends, values.get("id", ""))
            # NetworkX keeps only one of several links with the same ends and the same id.
            if key[2] and key in keys:
                problem = f"repeats the link '{key[2]}' from '{u}' to '{v}'"
                fail_at(line, problem, "give every link a different `id`")
            keys.add(key)

    parse_xml(text, check_element)
    for line, u, v in links:
        if not {u, v} <= nodes:
            fail_at(line, f"joins '{u}' to '{v}', of which at least one is not a node")
    return re.sub(r"\A\s*<\?xml[^>]*>\s*", "", text)


def parse_xml(
    text: str,
    begin: Callable[[int, str, dict[str, str]], object],
    end: Callable[[str], object] | None = None,
    doctype: str | None = None,
) -> None:
    """Parse an XML text.

    Args:
        text: the XML text.
        begin: is called with line, name and attributes at the beginning of each element.
        end: is called with the name at the end of each element.
        doctype: the only document type that the text may declare (default: none), without internal
            declarations. The document type is not fetched.

    Raises:
        InputError: the text is not XML, or declares a document type other than ``doctype``, which
            could define entities.
    """

    def check_doctype(name: str, _system: object, _public: object, has_declarations: int) -> None:
        if name != doctype or has_declarations:
            fail_at(parser.CurrentLineNumber, "declares a document type", "remove the DOCTYPE")

    parser = expat.ParserCreate("utf-8")
    parser.StartDoctypeDeclHandler = check_doctype
    parser.StartElementHandler = lambda *given: begin(parser.CurrentLineNumber, *given)
    parser.EndElementHandler = end
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        fail_at(error.lineno, f"is not XML: {expat.ErrorString(error.code)}")


def _load(file: GraphFile, noun: str, read: Callable[[Any], Any]) -> Any:
    """Read a graph with NetworkX; node positions in GML or GEXF become attributes of the nodes.

    Args:
        file: the file; the required memory is estimated from its size.
        noun: the name of the format, for messages.
        read: a function that takes the module networkx, and returns the graph in the file.
    """
    networkx = import_library("networkx")
    memory.require(_OBJECTS * len(file.text), "the objects of NetworkX", "use a smaller file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = read(networkx)
    except (networkx.NetworkXException, *DAMAGE) as error:
        reason = re.sub(r"at \((\d+), \d+\)$", r"in line \1", str(error))
        raise InputError(f"the file cannot be read as {noun}: {reason}", hint=_COMPLETE) from None
    for node in graph.nodes.values():
        for place in (node.get("graphics"), node.get("viz")):
            if isinstance(place, dict):
                node.update(place.get("position", place))
    return graph


#: The file readers by format. The readers in the last line of the dict return NetworkX graphs.
READERS: dict[NetworkFormat, Callable[[GraphFile], Any]] = {
    "edges": _read_edges, "csv": _read_csv, "graph6": _read_graph6, "metis": _read_metis,
    "json": _read_json, "dot": _read_dot, "pajek": _read_pajek, "adjlist": _read_adjacency,
    "anynet": _read_anynet, "matrix-market": _read_matrix_market,
    "graphml": _read_graphml, "gexf": _read_gexf, "gml": _read_gml, "sparse6": _read_sparse6,
}  # fmt: skip
