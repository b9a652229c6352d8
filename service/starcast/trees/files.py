"""Read and write forest files, and check that a construction can be part of a forest's id.

A file is a numpy archive (npz), without pickled objects, of the port array, the forest's parameters
and, if the topology is a network, the network.

Files are not trusted. A file must name the format and a version that this module reads, the
checksums of the archive must be correct, and its parts must have the right types. The sizes in the
headers are checked before any part is read, because a compressed file can expand to a thousand
times its own size. `Forest.verify` checks whether the array is a forest.
"""

import json
import os
import zipfile
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import ArrayArchive
from starcast.support.atomic import atomic_write
from starcast.support.errors import InputError, LimitError, StarcastError, unreadable
from starcast.support.limited import DAMAGE, open_archive
from starcast.support.vocabulary import format_spec, parse_spec
from starcast.topologies import Topology, memory, topology
from starcast.topologies.networks import Network

#: Maximum number of trees of a forest, because schedules store the index of a tree as uint8.
MAX_TREES = 256
_MAX_LENGTH = 200
_SHOWN = 40


def check_trees(trees: int) -> None:
    """Check that a forest does not have too many trees.

    Raises:
        InputError: the forest has more than `MAX_TREES` trees.
    """
    if trees > MAX_TREES:
        raise InputError(
            f"the forest has {trees:,} trees, more than the limit of {MAX_TREES}",
            hint=f"use at most {MAX_TREES} trees",
        )


def check_spec(construction: object, arguments: object) -> None:
    """Check that a construction and its arguments can be part of an id.

    Raises:
        InputError: the construction is not a string or contains a colon, the arguments are not a
            mapping to strings and integers, the text of both is too long, or parsing this text
            would return other values.
    """
    if not isinstance(arguments, Mapping):
        raise InputError(
            f"the arguments of a forest are of type {type(arguments).__name__}, not a mapping",
            hint="use a dict such as {'base': 'multiple'}, or omit the arguments",
        )
    if not isinstance(construction, str) or not _is_parsed_again(construction, arguments):
        raise InputError(
            f"the construction {str(construction)[:_SHOWN]!r} with its arguments cannot be part"
            " of an id",
            hint="write names and values without spaces, commas, colons, '=' and parentheses;"
            " values may also be integers of at most 9 digits, but not strings of digits; use at"
            f" most {_MAX_LENGTH} characters in total",
        )


def _is_parsed_again(construction: str, arguments: Mapping[str, str | int]) -> bool:
    # The exact type is compared: True is also an int, but would be read back as a string.
    if any(type(value) not in {str, int} for value in arguments.values()):
        return False
    if ":" in construction:
        return False
    try:
        text = format_spec(construction, arguments)
        return len(text) <= _MAX_LENGTH and parse_spec(text) == (construction, dict(arguments))
    # Keys of several types raise a TypeError; an integer with too many digits raises a ValueError.
    except (InputError, TypeError, ValueError):
        return False


FORMAT = "starcast forest"
#: The format version, increased with every change that an older starcast cannot read.
VERSION = 1

_WRITE_AGAIN = "write it again with 'starcast forest build' or Forest.save"
#: The maximum size in bytes of each part of a forest file except the port array and the network.
_SMALL_PART = 2**16
#: Bytes of memory for reading a network, per byte of the file's part ``network``.
_NETWORK_FACTOR = 40


def write_fields(path: str | os.PathLike[str], fields: Mapping[str, Any]) -> None:
    """Write the fields of a `Forest` to a file; if writing fails, an existing file stays unchanged.

    Raises:
        InputError: the file cannot be written.
    """
    parts = {
        "format": np.array(FORMAT),
        "version": np.array(VERSION),
        "topology": np.array(fields["topology"].spec),
        "root": np.array(fields["root"]),
        "construction": np.array(fields["construction"]),
        # The arguments are stored as JSON, because numpy would pickle a mapping, and a pickle can
        # run code when it is read.
        "arguments": np.array(json.dumps(dict(fields["arguments"]))),
        "spanning": np.array(fields["spanning"]),
        "verify_hubs": np.array(list(fields["verify_hubs"] or ()), dtype=np.int64),
        "parent_port": fields["parent_port"],
    }
    if fields["topology"].family == Network.family:
        # The text is stored as bytes, because numpy would use four bytes for each character.
        content = json.dumps(fields["topology"].as_json()).encode()
        parts["network"] = np.frombuffer(content, dtype=np.uint8)
    with atomic_write(path) as file:
        np.savez_compressed(file, **parts)


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a forest from a file that `write_fields` wrote.

    Raises:
        InputError: the file cannot be read, is not a forest file, is damaged, or has an unknown
            version.
        LimitError: the trees or their network do not fit into memory.
    """
    try:
        # `Path` refuses integers. The function `open` would treat an integer as a file descriptor,
        # and read and close that file.
        with Path(path).open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise InputError(
                    f"{path} is not a starcast forest",
                    hint="if the file is a network, add a construction, such as breadth-first; if"
                    f" it is a damaged forest, {_WRITE_AGAIN}",
                )
            with open_archive(file) as archive:
                return _parse_parts(path, _Parts(archive, path))
    except OSError as error:
        raise unreadable(path, error) from None
    except DAMAGE:
        raise _damaged(path) from None


class _Parts(ArrayArchive):
    """The parts (named arrays) of an opened forest file."""

    def small(self, name: str) -> NDArray[Any]:
        """Return a small part of the file; only the port array and the network may be large.

        Raises:
            Exception: the part is missing, too large or damaged; `DAMAGE` lists the types.
        """
        # The size in the header is checked before the array is allocated.
        shape, dtype = self.header(name)
        if prod(shape) * dtype.itemsize > _SMALL_PART:
            raise ValueError(f"{name} is too large")
        return self.read(name)

    def number(self, name: str) -> int:
        """Return a part that is a single integer or boolean, as an int."""
        part = self.small(name)
        if part.dtype.kind not in "iub" or part.ndim:
            raise ValueError(f"{name} is not a number")
        return int(part)

    def text(self, name: str) -> str:
        """Return a part that is a string."""
        part = self.small(name)
        if part.dtype.kind != "U" or part.ndim:
            raise ValueError(f"{name} is not text")
        return str(part)


def _parse_parts(path: str | os.PathLike[str], parts: _Parts) -> dict[str, Any]:
    if not _has_format(parts):
        raise InputError(f"{path} is not a starcast forest", hint=_WRITE_AGAIN)
    version = parts.number("version")
    if version != VERSION:
        raise InputError(
            f"{path} is a forest file of version {version}, but this starcast reads version "
            f"{VERSION}",
            hint=f"read it with the version of starcast that wrote it, or {_WRITE_AGAIN}",
        )
    # In older files, the part with the hubs is called "toward".
    hub_ranks = parts.small("verify_hubs" if "verify_hubs" in parts else "toward")
    # Older files, and files of topologies that belong to a family, contain no network.
    carried = _read_network(parts).spec if "network" in parts else None
    try:
        network = topology(parts.text("topology"))
        if carried not in {None, network.spec}:
            raise _damaged(path)
        if hub_ranks.dtype.kind not in "iu" or hub_ranks.ndim != 1:
            raise _damaged(path)
        hubs = tuple(network.node(int(rank)) for rank in hub_ranks)
        ports = _read_ports(path, parts, network)
        if hubs and len(hubs) != len(ports):
            raise _damaged(path)
        construction = parts.text("construction")
        arguments = _parse_arguments(parts.text("arguments"))
        check_spec(construction, arguments)
        return {
            "topology": network,
            "parent_port": ports,
            "root": network.root(parts.number("root")),
            "construction": construction,
            "arguments": arguments,
            "spanning": bool(parts.number("spanning")),
            "verify_hubs": hubs or None,
        }
    # A LimitError is passed on, because the file is not damaged, only too large for this machine.
    except LimitError:
        raise
    except StarcastError as error:
        raise _damaged(path) from error


def _has_format(parts: _Parts) -> bool:
    try:
        return parts.text("format") == FORMAT
    except DAMAGE:
        return False


def _read_network(parts: _Parts) -> Network:
    from starcast.topologies.network_records import NetworkRecord  # noqa: PLC0415 - few files

    (size,), _ = parts.header("network")
    memory.require(_NETWORK_FACTOR * size, f"the network of {size:,} bytes in the forest file")
    return NetworkRecord.model_validate_json(parts.read("network").tobytes()).restore()


def _read_ports(
    path: str | os.PathLike[str], parts: _Parts, network: Topology
) -> NDArray[np.uint8]:
    """Read the port array of a forest file.

    Raises:
        InputError: the array is not uint8, has too many trees, or is large and has a wrong shape.
        LimitError: the array does not fit into memory.
    """
    shape, dtype = parts.header("parent_port")
    if dtype != np.uint8:
        raise _damaged(path)
    if len(shape) == 2 and shape[1] == network.nodes:
        check_trees(shape[0])
        memory.require(
            memory.forest_bytes(network.nodes, shape[0]),
            f"the {shape[0]} trees of {path} on the {network.nodes:,} nodes of {network.spec}",
        )
    # A small array of a wrong shape is read, because `Forest` then rejects it with a clearer error.
    elif prod(shape) > _SMALL_PART:
        raise _damaged(path)
    return parts.read("parent_port")


def _parse_arguments(text: str) -> dict[str, str | int]:
    arguments = json.loads(text)
    if not isinstance(arguments, dict):
        raise TypeError("arguments must be an object")
    if "tree" in arguments:  # in older files, ``base`` is named ``tree``
        arguments["base"] = arguments.pop("tree")
    return arguments


def _damaged(path: str | os.PathLike[str]) -> InputError:
    return InputError(f"{path} is a damaged forest file", hint=_WRITE_AGAIN)
