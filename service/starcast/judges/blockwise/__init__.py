"""Verification of forests in closed form, block by block, without an array over all nodes.

For each block of m! nodes, the labels are decoded, the ports are computed, and every tree edge from
these nodes to their parents is examined. Then the next block reuses the memory
(docs/block-verification.md). Needs numba.
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
