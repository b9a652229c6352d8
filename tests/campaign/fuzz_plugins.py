"""Fuzzed plug-in declarations, and plug-in functions that return or raise anything."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import starcast
from campaign.fuzz_files import Case
from starcast.collectives import schedule
from starcast.judges.simulator import simulate
from starcast.support.errors import StarcastError
from starcast.trees import forest
from support.fix_plugins import restored_registries

_NAME = "fuzzed"


class _Raising:
    """A value that raises exceptions when it is converted, iterated, measured or shown."""

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("no array\nof mine")

    def __iter__(self) -> Iterator[int]:
        raise ZeroDivisionError("no values")

    def __len__(self) -> int:
        raise OSError("no length")

    def __bool__(self) -> bool:
        raise ArithmeticError("no truth")

    def __index__(self) -> int:
        raise KeyError("no number")

    def __repr__(self) -> str:
        raise AttributeError("no text")


class _NoPorts:
    """A result whose attribute `parent_port` raises an exception."""

    @property
    def parent_port(self) -> np.ndarray:
        raise LookupError("no ports")


_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3, 10**30, 1.5, float("nan"), "", "a", "star", "S", "x" * 5_000,
    "\x00", "a b", "\n", b"star", [], ["star"], ("star",), ["nk-star", "hypercube"], [1], [[]], {},
    {"star": 1}, {"star"}, object(), int, len, _Raising(), iter("ab"), np.array([1, 2]), ["all"],
    ["one", "all"], ["all", 7], "all", "one", [None], r"P(\d+)", r"P(\w+)", r"P((\d)+)|(x)", "P(",
    "(?P<n>P)", r"(S\d+)", "()", r"(\d*)", 10**400, 2**31,
)  # fmt: skip


def _result(draw: Random) -> Any:
    """Return a result for a construction: valid trees, invalid trees, or an arbitrary value."""
    ports: np.ndarray = np.array(forest("S3", "greedy").parent_port)
    match draw.randrange(10):
        case 0:
            return ports
        case 1:
            return ports[0].astype(draw.choice((np.int64, np.float64, np.bool_, np.str_, object)))
        case 2:
            changed = ports.astype(np.int64)
            changed[0, draw.randrange(6)] = draw.choice((-1, 0, 1, 4, 255, 256, 2**62, -(2**62)))
            return changed
        case 3:
            return draw.choice((ports.tolist(), [[1, 2], [3]], [ports, 1], np.ma.array(ports)))
        case 4:
            return draw.choice((_Raising(), _NoPorts(), [_Raising()], {"parent_port": ports}))
        case 5:
            return draw.choice((forest("S3", "multiple"), forest("S4", "greedy"), schedule))
        case 6:
            return draw.choice((ports[:, :4], ports[0, 0], ports[None], np.zeros((0, 6), np.uint8)))
        case _:
            return draw.choice(_VALUES)


def _columns(draw: Random) -> Any:
    """Return a result for an algorithm: valid or invalid columns, or an arbitrary value."""
    plan = schedule("S3", "broadcast", "greedy")
    columns: dict[Any, Any] = {
        name: getattr(plan, name).tolist() for name in ("step", "sender", "port", "unit")
    }
    for _ in range(draw.choice((0, 1, 1, 2))):
        name = draw.choice(
            ("step", "sender", "port", "unit", "receiver", "tree", "units", "packets", "symmetric",
             "forest", 7)
        )  # fmt: skip
        columns[name] = draw.choice((*_VALUES, [_Raising()], [1] * 5, ["123"] * 5, [2**70] * 5))
    return draw.choice((columns, columns, columns, plan, *_VALUES))


def _generators(draw: Random) -> Any:
    good = [[2, 1, 3], [3, 2, 1]]
    return draw.choice(
        (good, good, [[2, 1, 3]], [[2, 3, 1]], [[1, 2, 3]], [[2, 1], [3, 2, 1]], [2, 1], [["a"]],
         [[_Raising()]], [[2.5, 1, 3]], [[2**70, 1, 3]], ["213"], np.array(good), *_VALUES)
    )  # fmt: skip


def _function(draw: Random, kind: str, result: Any) -> Any:
    """Return a function that returns the result or raises, or sometimes an unsuitable object.

    The function has the parameters of its kind of plug-in, or other parameters.
    """
    error = draw.choice((*[None] * 12, ValueError("a\nb"), StarcastError("", ""), KeyError()))

    def answer(*_: object) -> Any:
        if error is not None:
            raise error
        return result

    default = draw.choice(_VALUES)
    # Declarations are read from the parameters of these functions.
    right: dict[str, Callable[..., Any]] = {
        "construction": lambda topology, root: answer(topology, root),  # noqa: PLW0108
        "algorithm": lambda topology, root, ports: answer(topology, root, ports),  # noqa: PLW0108
        "family": lambda n: answer(n),  # noqa: PLW0108
    }
    if draw.random() < 0.8:
        return right[kind]
    others: tuple[Any, ...] = (
        *right.values(),
        lambda *numbers: answer(numbers),
        lambda topology, root, depth=default: answer(topology, root, depth),
        lambda topology, root, ports, depth=default: answer(topology, root, ports, depth),
        lambda topology: answer(topology),  # noqa: PLW0108
        len, int, None, _Raising(), "x", print,
    )  # fmt: skip
    return draw.choice(others)


def _options(draw: Random, right: dict[str, Any]) -> dict[str, Any]:
    """Return valid keyword arguments, with a few replaced by arbitrary values."""
    changed = dict(right)
    for _ in range(draw.choice((0, 0, 0, 1, 1, 2))):
        changed[draw.choice(list(right))] = draw.choice(_VALUES)
    return changed


def _mostly(draw: Random, right: Any) -> Any:
    """Return the right value, or a random value with a probability of 5 %."""
    return right if draw.random() < 0.95 else draw.choice(_VALUES)


def _use_construction() -> None:
    starcast.constructions("S3")
    built = forest("S3", _NAME)
    with suppress(StarcastError):
        built.verify()


def _use_algorithm() -> None:
    simulate(schedule("S3", "broadcast", _NAME))


def _use_family() -> None:
    graph = starcast.topology("X3")
    _ = graph.diameter, graph.neighbours(2)


#: For each kind of plug-in: its decorator, valid keyword arguments of the decorator, a function
#: that draws a result, and a function that uses the plug-in.
_DECLARATIONS: dict[
    str,
    tuple[Callable[..., Any], dict[str, Any], Callable[[Random], Any], Callable[[], None]],
] = {
    "construction": (
        starcast.construction,
        {"families": ["star"], "description": "trees", "one_tree_per_port": False,
         "partial": False, "smallest": 1},
        _result,
        _use_construction,
    ),
    "algorithm": (
        starcast.algorithm,
        {"families": ["star"], "ports": ("all",), "smallest": 2},
        _columns,
        _use_algorithm,
    ),
    "family": (
        starcast.family,
        {"pattern": r"X(\d+)", "noun": "graphs", "group": "permutations", "sizes": range(2, 9)},
        _generators,
        _use_family,
    ),
}  # fmt: skip


def declaration(draw: Random, _: Path) -> Case:
    """Return a description of a random plug-in, and a function that declares and uses it."""
    kind = draw.choice(list(_DECLARATIONS))
    decorator, right, draw_result, use = _DECLARATIONS[kind]
    names = [_mostly(draw, "broadcast")] if kind == "algorithm" else []
    names.append(_mostly(draw, _NAME))
    source = _mostly(draw, "me")
    options = _options(draw, right)
    result = draw_result(draw)
    function = _function(draw, kind, result)

    def read() -> None:
        with restored_registries():
            decorator(*names, source=source, **options)(function)
            use()

    changed = {key: type(value).__name__ for key, value in options.items()}
    return f"{kind} {changed} of {type(result).__name__}", read
