"""Examples in docstrings that need no servers; `tests/stores/test_lab_examples.py` runs others."""

from doctest import DocTest
from pathlib import Path

import pytest

from support.docstring_examples import MODULES, contains, find_examples, run_examples

#: Examples that contain one of these need servers, or load a plug-in, which other tests would see.
SKIPPED = ("lab.", "connect(", "Publishing(", "mypaper")


def examples(module: str) -> list[DocTest]:
    return [each for each in find_examples(module) if not contains(each, *SKIPPED)]


def test_more_than_40_modules_have_examples_that_are_tested() -> None:
    assert sum(bool(examples(module)) for module in MODULES) > 40


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.whole
def test_examples_in_docstrings_print_what_they_show(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = "".join(map(run_examples, examples(module)))
    assert not report, report
