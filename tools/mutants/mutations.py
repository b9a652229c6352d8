"""Mutations of the source: small changes that tests should detect, such as < instead of <=.

`Finder` finds the mutations of one file. `draw` yields the mutations of all files in random order.
"""

import ast
import random
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("service/starcast", "papers")
#: The packages of each area. Files outside these packages, such as those in papers, belong to the
#: first area.
PACKAGES = {
    "mathematics": "topologies trees collectives costs search records claims catalogue",
    "judges": "judges",
    "stores": "stores ingest embedded experiments queries support",
    "doors": "cli lab web comparison drawing formats",
}
AREAS = tuple(PACKAGES)
#: For each operator, its pattern in the source and the operator that replaces it.
TURNED = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: (r"\*\*", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: (r"\|", "&"),
    ast.BitXor: (r"\^", "&"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
SKIPPED_BLOCKS = {"TYPE_CHECKING", "__name__"}
LOGS = {"log", "logging", "warnings"}

#: A change of the source: the kind of change, the range of the replaced bytes, and the new text.
Change = tuple[str, tuple[int, int], str]


@dataclass(frozen=True)
class Mutation:
    """One textual replacement in a source file.

    Attributes:
        operator: kind of change.
        begin: offset of the replaced bytes in the file.
        end: offset after the replaced bytes.
        text: the new text.
        line: line of the change, from 1.
        lines: first and last line of the code whose tests may detect the mutation: the lines of the
            statement, or all lines of the file if the statement is executed on import.
        file: path in the repository.
    """

    operator: str
    begin: int
    end: int
    text: str
    line: int
    lines: tuple[int, int]
    file: str = ""

    def apply(self, source: bytes) -> bytes:
        """Return the mutated source."""
        return source[: self.begin] + self.text.encode() + source[self.end :]

    def quote(self, source: bytes) -> tuple[str, str]:
        """Return the changed lines before and after the change, each as a single line."""
        begin = source.rfind(b"\n", 0, self.begin) + 1
        end = (source + b"\n").index(b"\n", self.end)
        after = source[begin : self.begin] + self.text.encode() + source[self.end : end]
        before, after = (b" ".join(text.split()) for text in (source[begin:end], after))
        return before.decode(), after.decode()

    def is_valid(self, source: bytes) -> bool:
        """Return whether the mutated source is valid Python with a different syntax tree."""
        try:
            return ast.dump(ast.parse(self.apply(source))) != ast.dump(ast.parse(source))
        except SyntaxError:
            return False


class Finder:
    """Finds the mutations of a source file.

    The following code is not mutated: docstrings, annotations, decorators, f-strings (whose parts
    have no exact position), assignments to dunder names, help texts, logging, arguments `strict=`,
    and blocks for type checkers or scripts.
    """

    def __init__(self, source: bytes) -> None:
        self.source = source
        sizes = map(len, source.splitlines(keepends=True))
        self._starts = [0, *accumulate(sizes)]

    def find(self) -> Iterator[Mutation]:
        """Yield all mutations, including invalid mutations (see `Mutation.is_valid`)."""
        yield from self._visit(ast.parse(self.source), (1, len(self._starts) - 1), None)

    def _visit(
        self, node: ast.AST, lines: tuple[int, int], function: ast.AST | None
    ) -> Iterator[Mutation]:
        """Yield the mutations of a node and its children.

        Args:
            node: any node.
            lines: first and last line of the innermost statement that contains the node, without
                the lines of the statement's body. For a node outside functions, the first and last
                line of the file.
            function: the innermost function that contains the node, if any.
        """
        if function and isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
            lines = (node.lineno, last or node.lineno)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node
        is_bool = _name(getattr(function, "returns", None)) == "bool"
        for operator, (begin, end), text in self._changes(node, is_bool=is_bool):
            line = bisect_right(self._starts, begin)
            yield Mutation(operator, begin, end, text, line, lines)
        for child in _executed(node):
            yield from self._visit(child, lines, function)

    def _changes(self, node: ast.AST, *, is_bool: bool) -> Iterator[Change]:
        """Yield the possible changes of a node itself, without those of its children.

        The flag ``is_bool`` states whether the node is in a function that returns a Boolean.
        """
        match node:
            case ast.Compare(left=left, ops=operators, comparators=operands):
                for operator, before, behind in zip(
                    operators, [left, *operands], operands, strict=False
                ):
                    yield from self._turn("comparison", operator, before, behind)
            case ast.BinOp(left=left, op=operator, right=right):
                yield from self._turn("arithmetic", operator, left, right)
            case ast.AugAssign(target=left, op=operator, value=right):
                yield from self._turn("arithmetic", operator, left, right)
            case ast.BoolOp(op=operator, values=values):
                for before, behind in pairwise(values):
                    yield from self._turn("and/or", operator, before, behind)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield "not", self._span(node), f"({self._text(operand)})"
            case ast.Constant(value=bool(flag)):
                yield "flag", self._span(node), str(not flag)
            case ast.Constant(value=int() | float() as number):
                yield "number", self._span(node), str(number + 1)
            case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())) if not _is_logging(node):
                yield "call", self._span(node), "pass"
        match node:
            case ast.Return(value=ast.expr() as value) if is_bool and not _is_constant(value):
                yield "negation", self._span(value), f"not ({self._text(value)})"
        match node:
            case (
                ast.Assign(value=ast.Call(func=function, args=[argument], keywords=[]) as call)
                | ast.AnnAssign(value=ast.Call(func=function, args=[argument], keywords=[]) as call)
                | ast.Return(value=ast.Call(func=function, args=[argument], keywords=[]) as call)
            ) if not isinstance(function, ast.Attribute) or _name(function.value) in {"np", "math"}:
                yield "argument", self._span(call), f"({self._text(argument)})"

    def _turn(
        self, name: str, operator: ast.AST, left: ast.expr, right: ast.expr
    ) -> Iterator[Change]:
        if type(operator) in TURNED:
            old, new = TURNED[type(operator)]
            begin, end = self._span(left)[1], self._span(right)[0]
            if token := re.search(old.encode(), self.source[begin:end]):
                yield name, (begin + token.start(), begin + token.end()), new

    def _span(self, node: Any) -> tuple[int, int]:
        begin = self._starts[node.lineno - 1] + node.col_offset
        return begin, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr) -> str:
        begin, end = self._span(node)
        return self.source[begin:end].decode()


def _name(node: ast.AST | None) -> str:
    return getattr(node, "id", "")


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def _is_logging(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in LOGS
    return False


def _executed(node: ast.AST) -> Iterable[ast.AST]:
    """Return those children of a node that may be mutated; see `Finder`."""
    match node:
        case ast.FunctionDef(args=args, body=body) | ast.AsyncFunctionDef(args=args, body=body):
            return [*args.defaults, *filter(None, args.kw_defaults), *body]
        case ast.ClassDef(body=body):
            return body
        case ast.If(test=test, orelse=orelse) if SKIPPED_BLOCKS & set(map(_name, ast.walk(test))):
            return orelse
        case ast.AnnAssign(value=value):
            return [value] if value else []
        case ast.JoinedStr() | ast.keyword(arg="help" | "strict"):
            return []
        case ast.Subscript(value=ast.Name(id="Literal")):
            return []
        case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("__"):
            return []
    return [] if _is_logging(node) else ast.iter_child_nodes(node)


def area(file: str) -> str:
    """Return the area in `AREAS` to which a source file belongs."""
    parts = Path(file.removeprefix("service/starcast/")).with_suffix("").parts
    if parts == ("claims", "verdict"):
        return "judges"
    return next((name for name in AREAS if parts[0] in PACKAGES[name].split()), AREAS[0])


def draw(root: Path, seed: int) -> Iterator[Mutation]:
    """Yield all valid mutations in an order that the seed determines.

    The areas take turns. Within an area, the kind of change is drawn first, then the mutation.
    """
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    pools: dict[str, dict[str, list[Mutation]]] = {name: defaultdict(list) for name in AREAS}
    for path in sorted(path for each in SOURCES for path in (root / each).rglob("*.py")):
        file = path.relative_to(root).as_posix()
        for mutation in Finder(path.read_bytes()).find():
            pools[area(file)][mutation.operator].append(replace(mutation, file=file))
    while any(pools.values()):
        for pool in pools.values():
            while pool:
                operator = chance.choice(sorted(pool))
                places = pool[operator]
                mutation = places.pop(chance.randrange(len(places)))
                if not places:
                    del pool[operator]
                if mutation.is_valid((root / mutation.file).read_bytes()):
                    yield mutation
                    break
