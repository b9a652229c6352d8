"""Verification of forests in closed form, block by block, with no array over all nodes.

A block of m! nodes is decoded, its ports are computed, and every tree edge that leaves its nodes is
examined, before the next block reuses the memory (docs/block-verification.md). Needs numba.
"""

from starcast.judges.blockwise.sources import Source, closed_form
from starcast.judges.blockwise.verification import (
    BlockVerification,
    combine,
    merge_blocks,
    plan_ranges,
    run_ranges,
    verify_blocks,
    verify_shard,
)

__all__ = [
    "BlockVerification",
    "Source",
    "closed_form",
    "combine",
    "merge_blocks",
    "plan_ranges",
    "run_ranges",
    "verify_blocks",
    "verify_shard",
]
