"""Small shards of each kind, changed copies with a correct checksum, and merging of shards."""

import base64
import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starcast.experiments.design import Design, Grid
from starcast.experiments.sharding import read_shards, run_shard
from starcast.judges.blockwise import merge_blocks
from starcast.records import load_record, path_of, shipped_folder
from starcast.search.running import merge_searches
from starcast.support.progress import Silent
from starcast.support.shards import Job, Shard, ShardKind, write_shard

#: Two experiment points, one of which has faults.
GRID = Grid({
    "topology": "S3", "algorithm": "multiple", "segments": 2, "message_bytes": "23/3",
    "faults": ["none", "213"],
})  # fmt: skip

#: The result for the only block of S3:multiple:123; computing it takes seconds of compilation.
_BLOCKS = {
    "blocks": [0, 1], "load": [3, 8, 1], "largest": [3, 3],
    "witnesses": [[0, 0, 5], [0, 1, 2]],
    "exceptions": [[0, 0, 0], [0, 1, 0], [0, 0, 2], [0, 1, 3], [0, 0, 4], [0, 1, 5]],
}  # fmt: skip


@cache
def _text(kind: ShardKind) -> str:
    only = Shard(1, 1)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "shard.json"
        match kind:
            case "experiment":
                run_shard("a", Design((GRID,)), only, file, Silent(), jobs=1)
            case "search":
                path = path_of(shipped_folder(), "edge-disjoint-trees", "S3")
                packed = base64.b64encode(next(path.parent.glob("S3.*.npz")).read_bytes())
                result = {"record": load_record(path).fields(), "witness": packed.decode()}
                description = {"searches": [], "seconds": 1.0, "engine": "cadical"}
                write_shard(file, Job("search", description, 1), only, {0: result})
            case "forest":
                job = Job("forest", {"id": "S3:multiple:123"}, 1)
                write_shard(file, job, only, {0: _BLOCKS})
        return file.read_text()


def content_of_shard(kind: ShardKind) -> dict[str, Any]:
    """Return the content of a small job's only shard, without its checksum."""
    content: dict[str, Any] = json.loads(_text(kind))
    del content["sha256"]
    return content


def seal(content: dict[str, Any]) -> bytes:
    """Return the text of a shard with the given content and its correct checksum."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return json.dumps({**content, "sha256": digest}).encode()


def merge(kind: ShardKind, file: Path) -> object:
    """Merge a shard as the command for shards of this kind does."""
    merges: dict[ShardKind, Callable[[list[Path]], object]] = {
        "experiment": read_shards, "search": merge_searches, "forest": merge_blocks,
    }  # fmt: skip
    return merges[kind]([file])
