"""Examples in docstrings print the output that they show."""

import doctest
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import starcast

ROOT = Path(starcast.__file__).parent
MODULES = [
    ".".join(("starcast", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]
#: Examples that contain one of these texts are not tested, because they need servers, or load a
#: plug-in that other tests would see.
SKIPPED = ("lab.", "connect(", "Publishing(", "mypaper")


def examples(module: str) -> list[doctest.DocTest]:
    """Return the examples of a module that can be tested here, one object per docstring.

    They may use the names of their module and the public names of the package.
    """
    names: dict[str, Any] = {name: getattr(starcast, name) for name in starcast.__all__}
    names |= {"starcast": starcast} | vars(import_module(module))
    found = doctest.DocTestFinder().find(import_module(module), extraglobs=names)
    return [
        each
        for each in found
        if not any(word in example.source for example in each.examples for word in SKIPPED)
    ]


def test_more_than_40_modules_have_examples_that_are_tested() -> None:
    assert sum(bool(examples(module)) for module in MODULES) > 40


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.whole
def test_examples_in_docstrings_print_the_output_that_they_show(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(verbose=False)
    printed: list[str] = []
    for each in examples(module):
        runner.run(each, out=printed.append)
    assert not printed, "".join(printed)
