"""Code mutations for `make mutants`, which counts the mutations that the tests detect."""

from pathlib import Path

import pytest
from tools.mutants.__main__ import summarize
from tools.mutants.mutations import AREAS, PACKAGES, ROOT, SOURCES, Finder, area, draw
from tools.mutants.selection import imports


def mutants(source: str) -> dict[str, list[str]]:
    """Return the mutants of a source text, by the kind of mutation."""
    found: dict[str, list[str]] = {}
    for mutation in Finder(source.encode()).find():
        assert mutation.is_valid(source.encode())
        found.setdefault(mutation.operator, []).append(mutation.apply(source.encode()).decode())
    return found


@pytest.mark.parametrize(
    ("source", "operator", "expected"),
    [
        ("a < b <= c", "comparison", ["a <= b <= c", "a < b < c"]),
        ("a not  in b", "comparison", ["a in b"]),
        ("a is not b", "comparison", ["a is b"]),
        ("(a) == (b)", "comparison", ["(a) != (b)"]),
        ("a + b * c", "arithmetic", ["a - b * c", "a + b // c"]),
        ("a //= b", "arithmetic", ["a *= b"]),
        ("a and b and c", "and/or", ["a or b and c", "a and b or c"]),
        ("x = not a == b", "not", ["x = (a == b)"]),
        ("x = a[-2], 0.5", "number", ["x = a[-3], 0.5", "x = a[-2], 1.5"]),
        ("f(a=True)", "flag", ["f(a=False)"]),
        ("def g():\n    f(\n        x,\n    )", "call", ["def g():\n    pass"]),
        ("x = f(y, )", "argument", ["x = (y)"]),
        ("x: int = np.sort(a + b)", "argument", ["x: int = (a + b)"]),
        ("def f() -> bool: return a or b", "negation", ["def f() -> bool: return not (a or b)"]),
        ("é = 'é'; x = 1", "number", ["é = 'é'; x = 2"]),
    ],
)
def test_every_kind_of_mutation_changes_the_code_as_expected(
    source: str, operator: str, expected: list[str]
) -> None:
    assert mutants(source)[operator] == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""The 3 nodes."""',
        "__all__ = names + [1]",
        "x: Literal[1, 2]",
        "Size = Literal[1, 2]",
        "def f(a: Annotated[int, 1 + 1]) -> tuple[Literal[1]]: ...",
        "@dataclass(frozen=True)\nclass A: ...",
        "if TYPE_CHECKING:\n    x = 1 + 2",
        "if __name__ == '__main__':\n    main(1)",
        "log.event('end', count=len(a) + 1)",
        "x = f'{a + 1:2}'",
        "x = Option(help='at most ' + str(3))",
        "x = text.strip(y)",
        "return_value = zip(a, b, strict=True)",
    ],
)
def test_code_that_is_not_executed_or_has_no_effect_is_not_mutated(source: str) -> None:
    assert mutants(source) == {}


def test_a_mutation_names_and_quotes_only_the_lines_of_its_statement() -> None:
    source = (
        b"def f():\n    if (\n        a < 1\n    ):\n        x = (\n            b + c\n        )\n"
    )
    lines = {mutation.operator: mutation.lines for mutation in Finder(source).find()}
    assert lines == {"comparison": (2, 4), "number": (2, 4), "arithmetic": (5, 7)}
    source = b"def f():\n    a = 1\n    f(\n        a,\n    )\n"
    number, call = Finder(source).find()
    assert (number.line, number.quote(source)) == (2, ("a = 1", "a = 2"))
    assert (call.line, call.quote(source)) == (3, ("f( a, )", "pass"))


def test_a_mutation_of_code_that_runs_on_import_affects_all_lines_of_the_module() -> None:
    """Every test that executes a line of the module may detect such a mutation."""
    source = b"x = 1\n\n\ndef f(a=2):\n    return a + 3\n"
    lines = {mutation.line: mutation.lines for mutation in Finder(source).find()}
    assert lines == {1: (1, 5), 4: (1, 5), 5: (5, 5)}


def test_the_same_seed_always_selects_the_same_mutations(
    tmp_path: Path,
) -> None:
    """Mutations are selected in turn from each area, which is a group of packages."""
    for part in ("trees", "judges", "stores", "cli"):
        path = tmp_path / SOURCES[0] / part / "module.py"
        path.parent.mkdir(parents=True)
        path.write_text("x = (1 < 2) + 3 if not y else z and True\n", encoding="utf-8")
    drawn = list(draw(tmp_path, 7))
    assert drawn == list(draw(tmp_path, 7))
    assert drawn != list(draw(tmp_path, 8))
    assert len(drawn) == len(set(drawn)) == 4 * 8
    assert [area(mutation.file) for mutation in drawn] == [*AREAS] * 8


def test_every_package_belongs_to_exactly_one_area_of_mutations() -> None:
    """An area is a group of packages for which detected mutations are counted together."""
    folders = {path.parent.name for path in (ROOT / SOURCES[0]).glob("*/__init__.py")}
    assert sorted(" ".join(PACKAGES.values()).split()) == sorted(folders)


def test_the_imports_of_a_module_are_listed_with_their_full_names(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("import a.b as c\ndef f():\n    from d.e import g\n", encoding="utf-8")
    assert imports(path) == {"a.b", "d.e", "d.e.g"}


def test_the_detection_rate_counts_only_mutants_that_some_test_detects() -> None:
    """`make test` detects three of these mutants, and the long test run `make sweep` one more."""
    results = ["test", "test", "test", "sweep", "survived", "equivalent"]
    lines, share = summarize({"area": "doors", "result": result} for result in results)
    assert share == pytest.approx(0.75)
    assert lines[-1] == "`make test` detected 3 of 4 mutants that the sweep detects"
