"""Kinds of campaign actions, and their results.

A seed, a number and the list of permitted kinds determine each action.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from random import Random

from campaign.disk import full_home, full_output
from campaign.floods import flood
from campaign.forgeries import forge
from campaign.fuzz import fuzz_command, fuzz_reader
from campaign.interruptions import connection_fault, crowd, kill
from campaign.output import Outcome
from campaign.servers import Servers
from campaign.surroundings import odd_session, odd_streams


@dataclass(frozen=True)
class Entry:
    """One action and its result.

    Attributes:
        action: number of the action in the campaign.
        seed: seed of the campaign.
        kind: the kind of the action, such as ``kill``.
        description: the command and the fault applied to it, or the number of inputs.
        results: number of occurrences of each result, such as ``exit 0``.
        problems: at most 20 violated invariants, one sentence each; empty if all hold.
        seconds: duration.
    """

    action: int
    seed: int
    kind: str
    description: str
    results: dict[str, int]
    problems: tuple[str, ...]
    seconds: float


def summarize(entries: Iterable[Entry]) -> list[str]:
    """Return the lines of a Markdown table, with one row for each kind of action."""
    lines = ["| kind | tried | results | problems | seconds |", "|---|---|---|---|---|"]
    kind_of = attrgetter("kind")
    for kind, each in groupby(sorted(entries, key=kind_of), kind_of):
        group = list(each)
        results = Counter[str]()
        for entry in group:
            results.update(entry.results)
        listed = ", ".join(f"{result}: {number:,}" for result, number in results.most_common())
        problems = sum(bool(entry.problems) for entry in group)
        seconds = sum(entry.seconds for entry in group)
        lines.append(f"| {kind} | {results.total():,} | {listed} | {problems} | {seconds:,.0f} |")
    return lines


_MAX_PROBLEMS = 20


@dataclass(frozen=True)
class Kind:
    """A kind of action.

    Attributes:
        act: performs one action.
        weight: relative frequency of the kind.
        inputs: the number of inputs that are tried in one action.
        needs_home: whether the campaign must own the embedded stack.
    """

    act: Callable[[Servers, Random], Outcome]
    weight: int
    inputs: int = 1
    needs_home: bool = False


KINDS: dict[str, Kind] = {
    "kill": Kind(kill, 8),
    "connection fault": Kind(connection_fault, 6),
    "full output": Kind(full_output, 3),
    "full home": Kind(full_home, 1, needs_home=True),
    "crowd": Kind(crowd, 1),
    "flood": Kind(flood, 2),
    "forgery": Kind(forge, 2, 10),
    "fuzzed input": Kind(lambda servers, draw: fuzz_reader(servers.folder, draw), 3, 100),
    "fuzzed command": Kind(fuzz_command, 3, 20),
    "odd streams": Kind(odd_streams, 3, 5),
    "odd session": Kind(odd_session, 3),
}


def choose(seed: int, number: int, kinds: list[str]) -> str:
    """Return the kind of action that a seed and an action number select from the given kinds."""
    draw = Random(f"{seed}:{number}:kind")  # noqa: S311 - repeatable
    return draw.choices(kinds, [KINDS[kind].weight for kind in kinds])[0]


def perform(
    servers: Servers, seed: int, number: int, name: str, inputs: int | None = None
) -> Entry:
    """Perform the action that seed, number and kind determine, and return its entry."""
    kind = KINDS[name]
    results = Counter[str]()
    problems: list[str] = []
    start = time.monotonic()
    description = ""
    for index in range(inputs or kind.inputs):
        draw = Random(f"{seed}:{number}:{index}")  # noqa: S311 - repeatable
        description, result, found = kind.act(servers, draw)
        results[result] += 1
        problems += [f"{index}: {description}: {problem}" for problem in found]
    seconds = round(time.monotonic() - start, 2)
    if results.total() > 1:
        description = f"{results.total()} inputs"
    return Entry(
        number, seed, name, description, dict(results), tuple(problems[:_MAX_PROBLEMS]), seconds
    )
