"""Select the quick tests and test modules that may detect a mutation."""

import ast
import json
import re
import shutil
from collections import defaultdict
from pathlib import Path

from coverage import CoverageData
from tools.mutants.mutations import ROOT, Mutation
from tools.mutants.runs import WITHOUT_SERVERS, Copy, module_of


class Tests:
    """The quick tests, with the lines that they execute and the modules that they import.

    Attributes:
        seconds: the duration of each quick test, by id.
        broken: the ids of tests that fail without a mutation.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._coverage: list[CoverageData] = []
        self._imports: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.broken: set[str] = set()

    def measure(self, copy: Copy, path: str) -> None:
        """Run the quick tests of a folder or module with coverage, or load an earlier result."""
        stem = self._folder / path.replace("/", "-").removesuffix(".py")
        report = stem.with_suffix(".json")
        if not report.exists():
            print(f"running the quick tests of {path} with coverage", flush=True)
            options = ["--cov", "--cov-context=test", "--cov-report=", "--cov-fail-under=0"]
            run = copy.run([path], options)
            if not all("::" in test for test in run.failed):
                raise SystemExit((copy.folder / "output").read_text())
            shutil.move(copy.folder / "coverage", stem.with_suffix(".coverage"))
            report.write_text(json.dumps([run.seconds, run.failed]))
        seconds, failed = json.loads(report.read_text())
        data = CoverageData(str(stem.with_suffix(".coverage")))
        data.read()
        self._coverage.append(data)
        folder = ROOT / path
        for module in [folder] if folder.is_file() else folder.glob("test_*.py"):
            self._imports[module.relative_to(ROOT).as_posix()] = imports(module)
        self.seconds |= seconds
        self.broken.update(failed)

    def covering(self, mutation: Mutation) -> tuple[list[str], list[str]]:
        """Return two sorted lists of quick tests that may detect a mutation.

        The first list contains the tests that execute a line of the mutated statement. If a test
        executes the line during its setup, the second list contains all other tests of the test's
        folder, because they may use the same fixture, which is set up only once.
        """
        contexts = set[str]()
        for data in self._coverage:
            for path in data.measured_files():
                if path.endswith(f"/{mutation.file}"):
                    by_line = data.contexts_by_lineno(path)
                    for line in range(mutation.lines[0], mutation.lines[1] + 1):
                        contexts.update(by_line.get(line, ()))
        covering = {context.rpartition("|")[0] for context in contexts} & self.seconds.keys()
        folders = {folder_of(context) for context in contexts if context.endswith("|setup")}
        others = {test for test in self.seconds if folder_of(test) in folders} - covering
        return self.sort(covering), self.sort(others)

    def related(self, mutation: Mutation, *, by_name: bool) -> list[str]:
        """Return the test modules that import the mutated module.

        With ``by_name``, also return test modules whose name contains that of the mutated module.
        """
        # Tests import modules of the papers from the package `starcast_papers`.
        file = re.sub("^papers/", "starcast_papers/", mutation.file.removeprefix("service/"))
        parts = Path(file).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        stem = name.rpartition(".")[2]
        return [
            module
            for module, names in sorted(self._imports.items())
            if name in names or (by_name and stem in Path(module).stem)
        ]

    def of_modules(self, modules: list[str]) -> list[str]:
        """Return the quick tests in the given test modules, sorted."""
        return self.sort({test for test in self.seconds if module_of(test) in modules})

    def sort(self, tests: set[str]) -> list[str]:
        """Sort tests by their module's total duration, tests that need no servers first."""
        totals: defaultdict[str, float] = defaultdict(float)
        for test in tests:
            totals[module_of(test)] += self.seconds[test]

        def key(test: str) -> tuple[bool, float, str]:
            module = module_of(test)
            return not test.startswith(WITHOUT_SERVERS), totals[module], module

        return sorted((test for test in self.seconds if test in tests), key=key)


def folder_of(test: str) -> str:
    """Return the folder of the module that contains a test."""
    return module_of(test).rpartition("/")[0]


def imports(path: Path) -> set[str]:
    """Return the dotted names that a module imports."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names
