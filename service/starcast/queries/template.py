"""The query file that ``starcast query new`` writes: a header and a statement to replace."""

from pathlib import Path

from starcast.errors import InputError
from starcast.queries.pack import SUFFIX, check_name
from starcast.support.atomic import atomic_write

_TEMPLATE = """\
// title: {title}
// question: Which nodes are adjacent to a node?
// parameters:
//   topology (topology): name of a stored topology, such as S5
//   node (node): label of the node
//   min_rank (int >= 0, default 0): list only neighbours of at least this rank
// columns:
//   neighbour (node): label of the neighbour
//   rank: its rank

// Replace the header and the statement; 'starcast query check FILE' checks them. The form of a
// header is in docs/queries.md; labels, types and properties of the graph are in docs/schema.md.
MATCH (node:Node {{topology: $topology, label: $node}})-[:LINK]-(neighbour:Node)
WHERE neighbour.rank >= $min_rank
RETURN neighbour.label AS neighbour, neighbour.rank AS rank
ORDER BY rank
"""


def write_template(name: str, folder: Path) -> Path:
    """Write a query file that loads and runs, and return its path.

    Args:
        name: ``pack/name``.
        folder: the folder of packs; created, with the folder of the pack, if missing.

    Raises:
        InputError: the name is not valid, the file exists, or it cannot be written.
    """
    pack, slash, query = name.partition("/")
    if not slash:
        raise InputError(f"'{name}' names no pack", hint=f"write PACK/NAME, such as mine/{name}")
    path = folder / pack / f"{query}{SUFFIX}"
    check_name(pack, path)
    check_name(query, path)
    if path.exists():
        raise InputError(f"{path} exists", hint="choose another name, or remove the file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {path.parent} cannot be created: {error.strerror}",
            hint="check its path and mode, or name another one with --folder",
        ) from None
    with atomic_write(path) as file:
        file.write(_TEMPLATE.format(title=query.replace("-", " ").capitalize()).encode())
    return path
