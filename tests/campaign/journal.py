"""The journal of a campaign, with one JSON object per action, and its summary."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One action and its result.

    Attributes:
        action: its number in the campaign.
        seed: seed of the campaign; with the number it determines the action.
        kind: the kind of the action, such as ``kill``.
        description: the command and the fault applied to it, or the number of inputs.
        results: how often each result occurred, such as ``exit 0``.
        problems: violated invariants, one sentence each; empty if all hold.
        seconds: duration.
    """

    action: int
    seed: int
    kind: str
    description: str
    results: dict[str, int]
    problems: tuple[str, ...] = field(default=())
    seconds: float = 0.0


class Journal:
    """A file of entries, written line by line, so that it survives a killed campaign."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")

    def add(self, entry: Entry) -> None:
        """Write an entry."""
        self.entries.append(entry)
        print(json.dumps(asdict(entry), ensure_ascii=False), file=self._file, flush=True)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def summarize(entries: Iterable[Entry]) -> list[str]:
    """Return a Markdown table with actions, results and problems of each kind."""
    by_kind: dict[str, list[Entry]] = {}
    for entry in entries:
        by_kind.setdefault(entry.kind, []).append(entry)
    lines = ["| kind | tried | results | problems | seconds |", "|---|---|---|---|---|"]
    for kind, group in sorted(by_kind.items()):
        results: Counter[str] = Counter()
        for entry in group:
            results.update(entry.results)
        listed = ", ".join(f"{result}: {number:,}" for result, number in results.most_common())
        problems = sum(bool(entry.problems) for entry in group)
        seconds = sum(entry.seconds for entry in group)
        total = sum(results.values())
        lines.append(f"| {kind} | {total:,} | {listed} | {problems} | {seconds:,.0f} |")
    return lines
