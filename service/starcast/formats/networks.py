"""Make networks from graphs and files, and recognize the formats of files.

Files are not trusted: their size is limited, and no number in a file determines an array's size.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from starcast.formats.machine_readers import ALL_READERS
from starcast.formats.network_readers import LINK_IDS, GraphFile
from starcast.support.errors import InputError, StarcastError, unreadable
from starcast.support.limited import MB, decode_text, read_bytes
from starcast.support.progress import Reporter
from starcast.support.vocabulary import NETWORK_SUFFIXES, NetworkFormat, Weights, is_network_path
from starcast.topologies.network_building import (
    LinkList,
    build_network,
    find_attribute,
    read_graph,
    report,
)
from starcast.topologies.networks import Network

#: Maximum size of a file in bytes, after decompression.
MAX_BYTES = 100 * MB
#: Patterns for the beginnings of network files, and of files that users may mistake for networks.
_BEGINNINGS: dict[str, NetworkFormat] = {
    r"<(?:.*<)?graphml\b": "graphml",
    r"<(?:.*<)?gexf\b": "gexf",
    r"<(?:.*<)?system\b": "nccl-xml",
    r"<(?:.*<)?platform\b": "simgrid",
    # Files of SimAI begin with five counts and a GPU type, files of ASTRA-sim with three counts.
    # After the counts, only numbers precede the first bandwidth.
    r"(?:[0-9]+[ \t]+){5}\w*[a-z]": "ns3",
    r"(?:[0-9]+[ \t]+){2}[0-9]+[ \t\r]*\n[0-9\s]*?[0-9.]+[kmgt]?b(?:ps|/s)": "ns3",
    r"%%MatrixMarket\b": "matrix-market",
    r">>graph6<<": "graph6",
    r">>sparse6<<|:[?-~]+\s*\Z": "sparse6",
    r"\{": "json",
    r"(?:\s|(?://|#)[^\n]*|/\*.*?\*/)*+(?:strict\s+)?(?:di)?graph\b[^\[\n]*\{": "dot",
    r"(?:.*\n)?\s*graph\s*\[": "gml",
    r"(?:%[^\n]*\n\s*)*+\*(?:vertices|network)\b": "pajek",
    r"(?:router|node)[ \t]+\d+[ \t]+(?:router|node)\b": "anynet",
    r"[?-~]+\s*\Z": "graph6",
}
_OTHERS = {
    r"<(?:.*<)?algo\b": "an MSCCL XML file",
    r"<": "XML",
    r"\[": "a JSON list",
    r">>digraph6<<|&[?-~]+\s*\Z": "digraph6",
    r"num_ranks\s": "a GOAL file",
    r"[^\n]*\bstep\b[^\n]*\bsender\b": "a schedule",
}
#: Number of characters at the beginning of a file by which its format is recognized.
_BEGINNING = 4096
_XML_COMMENT = re.compile(r"<!--(?:[^-]|-(?!-))*+-->")


def network(
    links: Any,
    *,
    name: str | None = None,
    file_format: NetworkFormat | None = None,
    capacities: Iterable[float] | None = None,
    latencies: Iterable[int] | None = None,
    switches: Iterable[Any] | None = None,
    weights: Weights | None = None,
    source: str | None = None,
    reporter: Reporter | None = None,
) -> Network:
    """Make a topology from any connected graph, or from a file that contains one.

    Ports are the colours of a proper edge colouring, so their number is at most D+1 for the
    largest degree D. The capacities of parallel links are added. Labels are made from the nodes'
    attribute ``label`` or else ``name``, if all nodes have different values; otherwise from the
    ids. Positions are the attributes ``lon`` and ``lat``, ``longitude`` and ``latitude``, ``x``
    and ``y``, or ``pos``.

    Args:
        links: a graph of NetworkX, igraph or rustworkx, a sparse matrix of SciPy, an array
            ``[links, 2]``, pairs of labels, or the path of a file: a `Path`, or a string with a
            slash or a usual suffix. `docs/formats.md` describes the formats.
        name: the first part of the spec: at most 43 letters, digits, ``_`` and ``.`` (default: the
            file's name without suffix, or ``network``).
        file_format: the format of the file (default: detected from the content or else the suffix).
        capacities: the capacity of each link, in the order of the links (default: the attribute
            ``capacity`` or ``bandwidth``, else 1). Integers are kept. Other numbers, and all
            values of attributes, are divided by their greatest common divisor, unless the graph has
            the attribute ``capacity_unit``. Values may have units, such as 100Gbps or 64 GB/s.
        latencies: the latency of each link in the unit of T_s, a non-negative integer (default: the
            attribute ``latency`` or ``delay``, else 0). Numbers with units, such as 0.5ms, become
            microseconds, or nanoseconds or picoseconds if microseconds would not be integers.
        switches: nodes that only forward: no message begins or ends at them (default: those whose
            attribute ``switch`` is true).
        weights: use the weights of links as ``capacity`` or as ``latency`` (default: do not use
            them). Weights are the attribute ``weight``, third values in the lines of an edge list,
            or the numbers in a sparse matrix or in a METIS, Pajek or Matrix Market file.
        source: a description of the network's origin (default: the file's name).
        reporter: reports parallel links and unused link attributes (default: they are reported as
            a `NetworkWarning`).

    Returns:
        The network. In this process, its spec, such as ``mine-3fa2c1``, also refers to the network.

    Raises:
        InputError: the graph is empty or not connected, or has a directed link without a reverse
            link, or a link from a node to itself; a node has more than 253 links; the name or an
            option is malformed; weights are requested, but the links have none; or the file cannot
            be read in the given format. The message names the file and, if the format has lines,
            the line.
        LimitError: the file is too large.
        UnavailableError: the format needs a library that is not installed.

    Example:
        >>> ring = network([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], name="ring")
        >>> ring.nodes, ring.links, ring.diameter, ring.ports
        (4, 4, 2, (1, 2))
    """
    given: dict[str, Any] = {
        "capacities": capacities, "latencies": latencies, "switches": switches, "weights": weights,
    }  # fmt: skip
    if isinstance(links, str) and not is_network_path(links):
        raise InputError(
            f"'{links}' is not written like the path of a network file",
            hint="write ./ before a file name; for a spec, use `starcast.topology`",
        )
    if not isinstance(links, str | Path):
        made_name = "network" if name is None else name
        return build_network(links, made_name, source or "", reporter, **given)
    path = Path(links)
    text = _read_text(path)
    recognized = file_format or _recognize(path, text)
    plain = Path(path.name.lower().removesuffix(".gz"))
    chosen = recognized or NETWORK_SUFFIXES.get(plain.suffix) or _list_format(text)
    if chosen not in ALL_READERS:
        raise InputError(f"unknown network format '{chosen}'", hint=f"use {_NAMES}")
    file = GraphFile(text, has_weights=weights is not None)
    made_name = _valid_name(path) if name is None else name
    try:
        read = ALL_READERS[chosen](file)
        found = read if isinstance(read, LinkList) else read_graph(read)
        made = build_network(found, made_name, source or path.name, reporter, **given)
    except StarcastError as error:
        hint = error.hint if recognized else f"{error.hint}; the file was read as {chosen}: {_FROM}"
        raise type(error)(f"{path}: {error.message}", hint=hint) from None
    used = {find_attribute(found, name, weights) for name in ("capacity", "latency")}
    names = {name for attributes in found.link_attributes for name in attributes}
    if unused := file.unused | (names - used - LINK_IDS):
        message = f"{made.spec} does not use all data of {path.name}: {', '.join(sorted(unused))}"
        if "weight" in unused and weights is None:
            message += " (set `weights` to use weights as capacities or latencies)"
        report(message, reporter)
    return made


_NAMES = ", ".join(ALL_READERS)
_FROM = f"if the file has another format, specify `file_format`: {_NAMES}"


def _valid_name(path: Path) -> str:
    """Return a valid network name: the file's name without suffixes and forbidden characters."""
    stem = Path(path.name.removesuffix(".gz")).stem
    return re.sub(r"[^A-Za-z0-9_.]", "_", stem).lstrip("_.")[:43] or "network"


def _read_text(path: Path) -> str:
    try:
        text = decode_text(read_bytes(path, MAX_BYTES))
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:
        raise InputError(f"{path}: {error}", hint="use a text file in UTF-8") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{path}: line {line} has a NUL character", hint="use a text file")
    if not text.strip():
        raise InputError(f"{path} is empty", hint="use a file with at least one link")
    return text


def _recognize(path: Path, text: str) -> NetworkFormat | None:
    """Return the file format recognized by the beginning of a text, or None if it is unknown.

    Raises:
        InputError: the file begins like a file that does not contain a network.
    """
    # Comments are removed first, because a licence in a comment may be longer than `_BEGINNING`.
    beginning = _XML_COMMENT.sub("", text[: 16 * _BEGINNING]).lstrip()[:_BEGINNING]
    for pattern, name in _BEGINNINGS.items():
        if re.match(pattern, beginning, re.DOTALL | re.IGNORECASE):
            return name
    for pattern, noun in _OTHERS.items():
        if re.match(pattern, beginning, re.DOTALL):
            raise InputError(f"{path} seems to be {noun}, not a network", hint=_FROM)
    return None


def _list_format(text: str) -> NetworkFormat:
    """Guess the format of a text that is a list of links: ``csv``, ``metis`` or ``edges``."""
    rows = [line for line in text.splitlines() if line.strip() and line.strip()[0] not in "#%"]
    # NetworkX writes the attributes of a link in braces, separated by commas.
    if re.search(r"[,;\t]", rows[0].partition("{")[0] if rows else ""):
        return "csv"
    # A METIS file begins with its numbers of nodes and links. As an edge list, such a file would
    # begin with a loop, or have rows of different lengths.
    counts = [len(row.split()) for row in rows[1:]]
    head = [str(len(counts)), str(sum(counts) // 2)]
    return "metis" if rows and rows[0].split() == head else "edges"
