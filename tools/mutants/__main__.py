"""Mutation test: compare how many mutants the quick tests and the full tests detect.

The quick tests are those of `make test`. The sweep (`make sweep`) is the long test run before a
release. A mutant is a copy of HEAD with one small change in service/starcast or papers. The
checkout is never changed. Each copy has its own servers, which are kept between mutants.

A mutant is tested in three stages:

1. Run the quick tests that execute the changed statement, and the quick tests in modules that
   import the mutated module. For a statement that is executed on import, run the quick tests that
   execute any line of the file. An earlier run with coverage has recorded the executed lines.
2. If all these tests pass, run their modules, and the test modules with similar names, with all
   cases of the sweep.
3. If a test fails in stage 2, run all quick tests. The mutant counts as detected by the sweep alone
   only if all of them pass.

A failing test must pass without the mutation. Otherwise the servers are recreated, and the mutant
is tried again.

The journal has one line per mutant, and a later run with the same seed and commit continues it. If
no test can detect a surviving mutant, a manual edit may change its result to "equivalent".

Usage: python -m tools.mutants [--mutants N] [--seed SEED] [--jobs N] [--tests PATH ...]

The exit code is 1 if `make test` detects fewer than 90 % of the mutants that the sweep detects.
"""

import argparse
import json
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any

from tools.mutants.mutations import AREAS, ROOT, SOURCES, Mutation, area, draw
from tools.mutants.runs import Copy, Run, function_of, module_of
from tools.mutants.selection import Tests, folder_of

#: The fraction of all detected mutants that `make test` must detect.
SHARE = 0.9
ATTEMPTS = 5
#: The possible results of a mutant. It is detected by `make test`, only by the sweep, or by no
#: test. It is "unclear" if tests also fail without the mutation. A manual edit marks a mutant that
#: no test can detect as "equivalent".
RESULTS = ("test", "sweep", "survived", "unclear", "equivalent")
FOUND = RESULTS[:2]


def judge(copy: Copy, tests: Tests, mutation: Mutation, sweep_limit: float) -> tuple[str, str]:
    """Test a mutation; return its result, "test", "sweep", "survived" or "unclear", and a text.

    The text is the id of a failing test. If no test failed, it describes how the test run ended, or
    is empty.
    """
    for _ in range(ATTEMPTS):
        found_by, run = _try(copy, tests, mutation, sweep_limit)
        test = run.failed[0] if run.failed else ""
        if run.result != "failure" or "::" not in test:
            return found_by, f"{run.result} {test}".strip()
        if not _fails_without_mutation(copy, test):
            return found_by, test
        copy.remove_servers()
        if _fails_without_mutation(copy, test):
            tests.broken.add(test)
    return "unclear", test


def _fails_without_mutation(copy: Copy, test: str) -> bool:
    return bool(copy.run([module_of(test)], ["--sweep"], first=[test], only=True).result)


def _try(copy: Copy, tests: Tests, mutation: Mutation, sweep_limit: float) -> tuple[str, Run]:
    run_quick = partial(_run_quick, copy, tests, mutation)
    covering, others = tests.covering(mutation)
    related = tests.of_modules(tests.related(mutation, by_name=False))
    everything = tests.sort({*tests.seconds})
    tried: list[str] = []
    for part in (covering, related, others) if covering or related else (everything,):
        run = run_quick([test for test in part if test not in tried])
        if run.result:
            return "test", run
        tried += part
    modules = unique([*map(module_of, tried), *tests.related(mutation, by_name=True)])
    sweep = _run_folders(
        copy,
        modules,
        ["-x", "--sweep"],
        mutation=mutation,
        first=unique(map(function_of, covering)),
        dropped=tests.broken,
        limit=sweep_limit,
    )
    # A time-out is not a detection, because a sweep may take as long without the mutation.
    if sweep.result != "failure":
        return "survived", sweep
    run = run_quick(everything)
    return ("test", run) if run.result else ("sweep", sweep)


def _run_quick(copy: Copy, tests: Tests, mutation: Mutation, selected: list[str]) -> Run:
    return _run_folders(
        copy,
        map(module_of, selected),
        ["-x"],
        mutation=mutation,
        first=selected,
        only=True,
        dropped=tests.broken,
        limit=120 + 10 * sum(tests.seconds[test] for test in selected),
    )


def _run_folders(copy: Copy, modules: Iterable[str], options: list[str], **rest: Any) -> Run:
    """Run the test modules of each folder in a separate process, until a process fails."""
    modules = unique(modules)
    for folder in unique(map(folder_of, modules)):
        run = copy.run([m for m in modules if folder_of(m) == folder], options, **rest)
        if run.result:
            return run
    return Run("", [], {})


def unique(names: Iterable[str]) -> list[str]:
    """Return the names without repetitions, in their original order."""
    return list(dict.fromkeys(names))


class Journal:
    """The results for one seed and commit, and the mutations that have not been tried.

    All threads share one journal.
    """

    def __init__(self, path: Path, seed: int, commit: str, wanted: int) -> None:
        self._path = path
        self._wanted = wanted
        self._key = {"seed": seed, "commit": commit}
        self._mutations = enumerate(draw(ROOT, seed))
        self._lock = threading.Lock()
        self.entries: list[dict[str, Any]] = []
        if path.exists():
            entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
            self.entries = [entry for entry in entries if self._key.items() <= entry.items()]

    def next(self) -> tuple[int, Mutation] | None:
        """Return the next mutation and its number.

        The result is None if enough mutants were detected, or if no mutation is left.
        """
        with self._lock:
            tried = {entry["number"] for entry in self.entries}
            if sum(entry["result"] in FOUND for entry in self.entries) >= self._wanted:
                return None
            return next(((n, mutation) for n, mutation in self._mutations if n not in tried), None)

    def add(self, number: int, mutation: Mutation, result: str, test: str, seconds: float) -> None:
        """Append the result of a mutation to the journal, and print it."""
        before, after = mutation.quote((ROOT / mutation.file).read_bytes())
        entry = {**self._key, "number": number, "area": area(mutation.file)}
        entry |= {"file": mutation.file, "line": mutation.line, "operator": mutation.operator}
        entry |= {"before": before, "after": after, "result": result, "test": test}
        entry["seconds"] = round(seconds, 1)
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            print(json.dumps(entry, ensure_ascii=False), file=file)
            self.entries.append(entry)
        place = f"{mutation.file}:{mutation.line}"
        print(f"{number} {result}: {place}: {before} -> {after} [{test}]", flush=True)


def summarize(entries: Iterable[dict[str, Any]]) -> tuple[list[str], float]:
    """Return the lines of a table of results per area, and the quality of the quick tests.

    The quality is the fraction of all detected mutants that `make test` detected.
    """
    counts = Counter((entry["area"], entry["result"]) for entry in entries)
    lines = [f"{'':12}" + "".join(f"{name:>12}" for name in RESULTS)]
    for name in AREAS:
        line = "".join(f"{counts[name, result]:12}" for result in RESULTS)
        lines.append(f"{name:12}{line}")
    totals = [sum(counts[name, result] for name in AREAS) for result in RESULTS]
    lines.append(f"{'all':12}" + "".join(f"{total:12}" for total in totals))
    found = totals[0] + totals[1]
    lines.append(f"`make test` detected {totals[0]} of {found} mutants that the sweep detects")
    return lines, totals[0] / max(1, found)


def main() -> int:
    """Try mutants until enough are detected, and return the exit code."""
    options = _parse_options()
    if subprocess.check_output(["git", "-C", ROOT, "status", "--porcelain", *SOURCES, "tests"]):
        raise SystemExit("commit the changes of the source and the tests first")
    commit = subprocess.check_output(["git", "-C", ROOT, "rev-parse", "HEAD"], text=True).strip()
    journal = Journal(options.journal, options.seed, commit, options.mutants)
    print(f"seed {options.seed}, journal {options.journal}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        # The folder is readable for all users, because root runs the servers as another user.
        folder.chmod(0o755)
        copies = [Copy(folder / str(number), commit) for number in range(options.jobs)]
        pool = ThreadPoolExecutor(options.jobs)
        try:
            tests = _measure(pool, copies, ROOT / ".mutants" / commit, options.tests)
            work = [pool.submit(_work, copy, tests, journal, options) for copy in copies]
            _finish(work)
        finally:
            _stop(pool, copies)
    lines, share = summarize(journal.entries)
    print("\n".join(lines))
    return int(share < SHARE)


def _measure(pool: ThreadPoolExecutor, copies: list[Copy], folder: Path, paths: list[str]) -> Tests:
    tests = Tests(folder)
    free: Queue[Copy] = Queue()
    for copy in copies:
        free.put(copy)

    def measure(path: str) -> None:
        copy = free.get()
        try:
            tests.measure(copy, path)
        finally:
            free.put(copy)

    folders = sorted({path.parent for path in ROOT.glob("tests/*/test_*.py")})
    paths = paths or [folder.relative_to(ROOT).as_posix() for folder in folders]
    _finish([pool.submit(measure, path) for path in paths])
    if tests.broken:
        print("tests not used, because they fail without a mutation:", *sorted(tests.broken))
    return tests


def _work(copy: Copy, tests: Tests, journal: Journal, options: argparse.Namespace) -> None:
    while drawn := journal.next():
        begin = time.monotonic()
        result, test = judge(copy, tests, drawn[1], 60 * options.sweep_minutes)
        journal.add(*drawn, result, test, time.monotonic() - begin)


def _finish(work: list[Future[None]]) -> None:
    """Wait until all threads end, or until a thread raises an error, and raise this error."""
    wait(work, return_when="FIRST_EXCEPTION")
    for future in work:
        if future.done():
            future.result()


def _stop(pool: ThreadPoolExecutor, copies: list[Copy]) -> None:
    """End all threads and their processes, and remove the servers of all copies."""
    Copy.stopping.set()
    for copy in copies:
        copy.end_processes()
    pool.shutdown(cancel_futures=True)
    for copy in copies:
        copy.remove_servers()


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=40, help="number of mutants to detect")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel copies")
    parser.add_argument("--journal", type=Path, default=ROOT / ".mutants" / "mutants.jsonl")
    parser.add_argument(
        "--sweep-minutes", type=float, default=30, help="time limit per mutant and folder"
    )
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="run only these tests")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
