"""Kinds of campaign actions. A seed and a number determine each action."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from campaign.disk import full_home, full_output
from campaign.floods import flood
from campaign.fuzz import fuzz_command, fuzz_reader
from campaign.interruptions import connection_fault, crowd, kill
from campaign.journal import Entry
from campaign.output import Outcome
from campaign.servers import Servers

_MAX_PROBLEMS = 20


@dataclass(frozen=True)
class Kind:
    """A kind of action.

    Attributes:
        act: performs one action.
        weight: relative frequency with which it is chosen.
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
    "fuzzed input": Kind(lambda servers, draw: fuzz_reader(servers.folder, draw), 3, 100),
    "fuzzed command": Kind(fuzz_command, 3, 20),
}


def choose(seed: int, number: int, kinds: list[str]) -> str:
    """Return the kind of action that a seed and an action number determine."""
    draw = Random(f"{seed}:{number}:kind")  # noqa: S311 - repeatable
    return draw.choices(kinds, [KINDS[kind].weight for kind in kinds])[0]


def perform(
    servers: Servers, seed: int, number: int, name: str, inputs: int | None = None
) -> Entry:
    """Perform an action, which depends only on seed, number and kind."""
    kind = KINDS[name]
    results: Counter[str] = Counter()
    problems: list[str] = []
    start = time.monotonic()
    description = ""
    for index in range(inputs or kind.inputs):
        draw = Random(f"{seed}:{number}:{index}")  # noqa: S311 - repeatable
        description, result, found = kind.act(servers, draw)
        results[result] += 1
        problems += [f"{index}: {description}: {problem}" for problem in found]
    seconds = round(time.monotonic() - start, 2)
    if (total := sum(results.values())) > 1:
        description = f"{total} inputs"
    return Entry(
        number, seed, name, description, dict(results), tuple(problems[:_MAX_PROBLEMS]), seconds
    )
