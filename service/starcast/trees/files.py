"""A forest in a file: a numpy archive (npz) of its array and of what names it, without pickle.

A file is read with suspicion: it is ours if it says so, of a version that is known, whole by the checksums of the archive, and
its parts are what a forest is made of. Whether the array is a forest, `Forest.verify` decides.
"""

import json
import os
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from starcast.errors import InputError, StarcastError
from starcast.support.atomic import atomic_write
from starcast.topologies import topology

if TYPE_CHECKING:
    from starcast.trees.model import Forest

FORMAT = "starcast forest"
#: Grows with every change that an older starcast cannot read.
VERSION = 1

_WRITE_AGAIN = "write it again with 'starcast tree build' or Forest.save"


def write(forest: "Forest", path: str | os.PathLike[str]) -> None:
    """Write a forest; the file is whole or, if something goes wrong, what it was before.

    Raises:
        InputError: the file cannot be written.
    """
    parts = {
        "format": np.array(FORMAT),
        "version": np.array(VERSION),
        "topology": np.array(forest.topology.spec),
        "root": np.array(forest.root),
        "construction": np.array(forest.construction),
        "arguments": np.array(json.dumps(dict(forest.arguments))),
        "spanning": np.array(forest.spanning),
        "toward": np.array(
            [] if forest.verify_hubs is None else list(forest.verify_hubs), dtype=np.int64
        ),
        "parent_port": forest.parent_port,
    }
    with atomic_write(path) as file:
        np.savez_compressed(file, **parts)  # type: ignore[arg-type]


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `Forest` takes, out of a file that `write` wrote.

    Raises:
        InputError: the file cannot be read, is not ours, is of another version, or is damaged.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path or what stands for one
            if not zipfile.is_zipfile(file):
                raise InputError(
                    f"{path} is no forest of starcast",
                    hint=f"if it should be one, it is damaged: {_WRITE_AGAIN}",
                )
            file.seek(0)
            with np.load(file, allow_pickle=False) as parts:
                return _fields(path, parts)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}", hint="check its path and its mode"
        ) from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        ValueError,
        TypeError,
        KeyError,
        EOFError,
        MemoryError,
        NotImplementedError,
    ):
        raise _damaged(path) from None


def _fields(path: str | os.PathLike[str], parts: Any) -> dict[str, Any]:
    if "format" not in parts or parts["format"].dtype.kind != "U" or str(parts["format"]) != FORMAT:
        raise InputError(f"{path} is no forest of starcast", hint=_WRITE_AGAIN)
    if int(parts["version"]) != VERSION:
        raise InputError(
            f"{path} is a forest file of version {int(parts['version'])}, and this starcast reads version {VERSION}",
            hint=f"read it with the starcast that wrote it, or {_WRITE_AGAIN}",
        )
    try:
        where = topology(str(parts["topology"]))
        verify_hubs = [where.node(int(node)) for node in parts["toward"]]
        ports = parts["parent_port"]
        if ports.dtype != np.uint8 or (verify_hubs and len(verify_hubs) != len(ports)):
            raise _damaged(path)
        return {
            "topology": where,
            "parent_port": ports,
            "root": where.node(int(parts["root"])),
            "construction": str(parts["construction"]),
            "arguments": _arguments(str(parts["arguments"])),
            "spanning": bool(parts["spanning"]),
            "verify_hubs": tuple(verify_hubs) or None,
        }
    except StarcastError as error:
        raise _damaged(path) from error


def _arguments(text: str) -> dict[str, str | int]:
    found = json.loads(text)
    if not isinstance(found, dict) or not all(
        isinstance(value, str | int) for value in found.values()
    ):
        raise TypeError("arguments are names with words or numbers")
    return found


def _damaged(path: str | os.PathLike[str]) -> InputError:
    return InputError(f"{path} is a damaged forest file", hint=_WRITE_AGAIN)
