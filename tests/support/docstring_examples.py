"""The examples in docstrings of starcast, for tests that run them."""

import doctest
from importlib import import_module
from pathlib import Path
from typing import Any

import starcast

_ROOT = Path(starcast.__file__).parent
MODULES = [
    ".".join(("starcast", *path.relative_to(_ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(_ROOT.rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


def find_examples(module: str, **further: Any) -> list[doctest.DocTest]:
    """Return the examples of a module, one object per docstring.

    They may use the names of their module, the public names of the package, and ``further`` names.
    """
    names: dict[str, Any] = {name: getattr(starcast, name) for name in starcast.__all__}
    names |= {"starcast": starcast} | vars(import_module(module)) | further
    return doctest.DocTestFinder().find(import_module(module), extraglobs=names)


def contains(examples: doctest.DocTest, *texts: str) -> bool:
    """Return whether the source code of the examples contains one of the texts."""
    return any(text in each.source for each in examples.examples for text in texts)


def run_examples(examples: doctest.DocTest) -> str:
    """Run the examples of a docstring; return a report of failures, empty if there are none."""
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(examples, out=report.append)
    return "".join(report)
