"""Where the array form meets the page: either one written in the other's terms, and the forests both can build."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from starcast.errors import StarcastError
from starcast.trees import Forest, forest
from unit import oracles

#: Every construction on S_n by name, as the page builds it.
PAGES: dict[str, Callable[[oracles.Node], Sequence[oracles.Tree]]] = {
    "greedy": lambda root: [oracles.greedy(root)],
    "multiple": oracles.multiple,
    "recursive-substar": lambda root: [oracles.recursive_substar(root)],
}


@contextmanager
def refused(*words: str, exit_code: int = 2) -> Iterator[None]:
    """What is inside is an error with a hint, this exit code, and these words in its message."""
    with pytest.raises(StarcastError) as refusal:
        yield
    assert refusal.value.exit_code == exit_code
    assert refusal.value.hint
    for word in words:
        assert word in refusal.value.message


class Pair(NamedTuple):
    """One forest in both forms."""

    n: int
    root: oracles.Node
    trees: Sequence[oracles.Tree]
    forest: Forest


def pair(n: int, construction: str, root: oracles.Node | None = None) -> Pair:
    """The forest of S_n with that root, by the array form and by the page."""
    root = root or oracles.identity(n)
    built = forest(f"S{n}", construction, root=oracles.label(root))
    return Pair(n, root, PAGES[construction](root), built)


def roots(n: int) -> list[oracles.Node]:
    """All cyclic shifts of the identity, and two roots that are none."""
    every = oracles.nodes(n)
    return list(dict.fromkeys([*oracles.cyclic_roots(n), every[-1], every[len(every) // 3]]))


def ports_of(tree: oracles.Tree, root: oracles.Node) -> NDArray[np.uint8]:
    """A tree as the row of each node's port towards its parent, 0 at the root and outside."""
    return np.array(
        [oracles.dimension_between(x, tree[x]) if x in tree else 0 for x in oracles.nodes(len(root))], dtype=np.uint8
    )


def tree_of(row: Iterable[int], n: int) -> oracles.Tree:
    """A row of ports towards parents as a tree, whether or not it is one."""
    return {x: oracles.swap(x, int(port)) for x, port in zip(oracles.nodes(n), row, strict=True) if port}
