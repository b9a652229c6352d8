"""Files of forests: a numpy archive (npz) of the array and its parameters, without pickle.

A file is not trusted: it must say that it is ours and in a version that we read, the checksums of
the archive must agree, and its parts must have the right types. Whether the array is a forest is
left to `Forest.verify`.
"""

import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from starcast.errors import InputError, StarcastError
from starcast.support.atomic import atomic_write
from starcast.topologies import Topology, topology

FORMAT = "starcast forest"
#: Increases with every change that an older starcast cannot read.
VERSION = 1

_WRITE_AGAIN = "write it again with 'starcast forest build' or Forest.save"
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
    TypeError,
    KeyError,
    EOFError,
    MemoryError,
    NotImplementedError,
)


class ForestFields(TypedDict):
    """The fields of a `Forest`."""

    topology: Topology
    parent_port: NDArray[np.uint8]
    root: int
    construction: str
    arguments: Mapping[str, str | int]
    spanning: bool
    verify_hubs: Sequence[int] | None


def write_fields(path: str | os.PathLike[str], fields: ForestFields) -> None:
    """Write the fields of a forest to a file, which is replaced only when complete.

    Raises:
        InputError: the file cannot be written.
    """
    parts = {
        "format": np.array(FORMAT),
        "version": np.array(VERSION),
        "topology": np.array(fields["topology"].spec),
        "root": np.array(fields["root"]),
        "construction": np.array(fields["construction"]),
        "arguments": np.array(json.dumps(dict(fields["arguments"]))),
        "spanning": np.array(fields["spanning"]),
        "verify_hubs": np.array(list(fields["verify_hubs"] or ()), dtype=np.int64),
        "parent_port": fields["parent_port"],
    }
    with atomic_write(path) as file:
        np.savez_compressed(file, **parts)  # type: ignore[arg-type]


def read_fields(path: str | os.PathLike[str]) -> ForestFields:
    """Read the fields of a forest from a file that `write_fields` wrote.

    Raises:
        InputError: the file cannot be read, is not a forest, has another version, or is damaged.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path, or an object that stands for a path
            if not zipfile.is_zipfile(file):
                raise InputError(
                    f"{path} is not a starcast forest",
                    hint=f"if it was written as one, it is damaged: {_WRITE_AGAIN}",
                )
            file.seek(0)
            with np.load(file, allow_pickle=False) as parts:
                return _parse_parts(path, parts)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}", hint="check its path and its mode"
        ) from None
    except _DAMAGE:
        raise _damaged(path) from None


def _parse_parts(path: str | os.PathLike[str], parts: Any) -> ForestFields:
    if "format" not in parts or parts["format"].dtype.kind != "U" or str(parts["format"]) != FORMAT:
        raise InputError(f"{path} is not a starcast forest", hint=_WRITE_AGAIN)
    version = int(parts["version"])
    if version != VERSION:
        raise InputError(
            f"{path} is a forest file of version {version}, and this starcast reads version "
            f"{VERSION}",
            hint=f"read it with the starcast that wrote it, or {_WRITE_AGAIN}",
        )
    # The key was "toward" at first.
    hub_ranks = parts["verify_hubs" if "verify_hubs" in parts else "toward"]
    try:
        network = topology(str(parts["topology"]))
        hubs = tuple(network.node(int(rank)) for rank in hub_ranks)
        ports = parts["parent_port"]
        if ports.dtype != np.uint8 or (hubs and len(hubs) != len(ports)):
            raise _damaged(path)
        return ForestFields(
            topology=network,
            parent_port=ports,
            root=network.node(int(parts["root"])),
            construction=str(parts["construction"]),
            arguments=_parse_arguments(str(parts["arguments"])),
            spanning=bool(parts["spanning"]),
            verify_hubs=hubs or None,
        )
    except StarcastError as error:
        raise _damaged(path) from error


def _parse_arguments(text: str) -> dict[str, str | int]:
    arguments = json.loads(text)
    if not isinstance(arguments, dict):
        raise TypeError("arguments must be an object")
    if not all(isinstance(value, str | int) for value in arguments.values()):
        raise TypeError("arguments must be strings or integers")
    if "tree" in arguments:  # the first name of ``base``
        arguments["base"] = arguments.pop("tree")
    return arguments


def _damaged(path: str | os.PathLike[str]) -> InputError:
    return InputError(f"{path} is a damaged forest file", hint=_WRITE_AGAIN)
