"""Verify forests given by formulas, block by block, without an array over all nodes.

A block consists of the m! nodes of S_n that share their last n-m symbols. For each block, the
package decodes the labels, computes the ports, and examines every tree edge from the block's nodes
to their parents. The memory is then reused for the next block (docs/block-verification.md). This
package needs numba.
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
