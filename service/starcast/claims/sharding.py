"""Verification of claims in shards.

A task of the job is all claims of one section at one size, which share objects.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starcast.claims import catalogue, parallel, serialization
from starcast.claims.evidence import Evidence
from starcast.claims.parallel import Pair
from starcast.errors import InputError
from starcast.progress import Reporter
from starcast.support.shapes import is_seconds, one_of
from starcast.support.shards import Job, Shard, merge_shards, write_shard
from starcast.vocabulary import LEVELS, Level


@dataclass(frozen=True)
class MergedClaims:
    """The evidence of all shards.

    Attributes:
        names: the claims that were asked for; all of them if empty.
        level: the level, if no sizes were given.
        sizes: specs that were given instead of a level.
        evidence: the evidence of all pairs.
    """

    names: tuple[str, ...]
    level: Level
    sizes: tuple[str, ...] | None
    evidence: tuple[Evidence, ...]


def check_shard(
    names: Sequence[str],
    level: Level,
    sizes: Sequence[str] | None,
    shard: Shard,
    file: Path,
    reporter: Reporter,
    jobs: int | None = None,
    executor: Executor | None = None,
) -> int:
    """Verify the claims of a shard and write their evidence to a file; nothing is stored.

    Args:
        names: claim ids or prefixes of ids; all claims if empty.
        level: the sizes to verify.
        sizes: specs to verify instead of a level.
        shard: which of the checks.
        file: output file.
        reporter: receives the progress.
        jobs: as in `parallel.run_tasks`.
        executor: as there.

    Returns:
        The number of checks.

    Raises:
        InputError: a claim, level or size is unknown, or the file cannot be written.
        LimitError: a size does not fit into memory; no file is written.
    """
    groups = _group(parallel.plan_pairs(catalogue.select_claims(names), level, sizes))
    selected = dict(shard.select(groups))
    results: dict[int, list[dict[str, Any]]] = {number: [] for number in selected}
    numbers = {pair: number for number, pairs in selected.items() for pair in pairs}
    with parallel.run_tasks(parallel.plan_tasks(numbers), jobs, reporter, executor) as found:
        for evidence in found:
            for each in evidence:
                results[numbers[each.claim, each.size]].append(_to_json(each))
    description = {"names": list(names), "level": level, "sizes": sizes, "groups": len(groups)}
    write_shard(file, Job("claims", description, len(groups)), shard, results)
    return len(numbers)


def merge_claims(files: Sequence[Path]) -> MergedClaims:
    """Return the evidence of all shards of a verification of claims.

    Raises:
        InputError: the files are not all shards of one verification, or are damaged.
        RejectedError: they were computed by other code.
    """
    job, results = merge_shards(files, "claims", _DESCRIPTION, [_EVIDENCE])
    evidence = tuple(_from_json(values) for result in results for values in result)
    asked = job.description
    sizes = None if asked["sizes"] is None else tuple(asked["sizes"])
    planned = parallel.plan_pairs(catalogue.select_claims(asked["names"]), asked["level"], sizes)
    if {(each.claim, each.size) for each in evidence} != set(planned):
        raise InputError(
            "the shards do not hold the evidence of all checks that this machine would make",
            hint="machines with less memory omit sizes of the level deep: give --sizes instead",
        )
    return MergedClaims(tuple(asked["names"]), asked["level"], sizes, evidence)


_DESCRIPTION = {"names": [str], "level": one_of(*LEVELS), "sizes": (None, [str]), "groups": int}
_EVIDENCE = {
    "claim": str,
    "size": str,
    "seconds": is_seconds,
    "evidence": serialization.EVIDENCE_SHAPE,
}


def _group(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Return the pairs by section and size, in the order of the papers."""
    groups: dict[tuple[str, str], list[Pair]] = {}
    for claim_id, spec in pairs:
        section = catalogue.find_claim(claim_id).section
        groups.setdefault((section, spec), []).append((claim_id, spec))
    return list(groups.values())


def _to_json(evidence: Evidence) -> dict[str, Any]:
    return {
        "claim": evidence.claim,
        "size": evidence.size,
        "seconds": evidence.seconds,
        "evidence": serialization.evidence_to_json(evidence),
    }


def _from_json(values: Mapping[str, Any]) -> Evidence:
    return serialization.evidence_from_json(
        values["claim"], values["size"], values["seconds"], values["evidence"]
    )
