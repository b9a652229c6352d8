"""What stands beside the files of an export: a script that imports them, and a page that says when to run it."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from starcast.graph import bulk

SCRIPT, GUIDE = "import.sh", "README.md"

#: The memory is what the tool may take beside its heap: on its own it would take most of the machine's.
_OPTIONS = ("--overwrite-destination", "--max-off-heap-memory=1g")

#: Most things that the page names.
_SHOWN = 20

# The tool takes a comma in a path for the end of it, so it runs beside the files. Its report goes elsewhere: the folder may be
# another user's.
_SCRIPT = """\
#!/bin/sh
# Makes a database of a stopped Neo4j anew, of the files beside this script: sh import.sh [DATABASE]
# NEO4J_ADMIN names the tool where it is not on the path.
set -eu
cd "$(dirname "$0")"
report=$(mktemp)
trap 'rm -f "$report"' EXIT
"${{NEO4J_ADMIN:-neo4j-admin}}" database import full "${{1:-neo4j}}" --report-file="$report" \\
    {arguments}
"""

_GUIDE = """\
# Files for Neo4j, by starcast

{nodes:,} nodes and {relationships:,} relationships, {megabytes:,.0f} MB: all of {things}.

`{script}` makes Neo4j's database anew of them; what it holds now is replaced. Everything that was stored when the files were
written is among them. Neo4j has to be stopped meanwhile. Afterwards `starcast graph adopt` makes the indexes, compares what was
imported with what was built, and makes it complete; until then no query uses it. Do not ingest or drop anything between the
export and that.

## docker compose

In the folder of `docker-compose.yml`; where this folder lies elsewhere on the host, write its path there:

```sh
docker compose stop neo4j
docker compose run --rm --no-deps -T -v {mount} neo4j sh /export/{script}{database}
docker compose up --wait
docker compose run --rm starcast graph adopt
```

## A Neo4j server of its own

With the user that the server runs as, and `neo4j-admin` of the same installation on the path:

```sh
neo4j stop
sh {path}{database}
neo4j start
starcast graph adopt
```
"""


def script(files: bulk.BulkFiles) -> str:
    """The script that imports these files, wherever the folder lies."""
    arguments = " \\\n    ".join(map(shlex.quote, (*_OPTIONS, *bulk.OPTIONS, *files.arguments)))
    return _SCRIPT.format(arguments=arguments)


def guide(folder: Path, database: str, things: Sequence[str], files: bulk.BulkFiles) -> str:
    """How to import the files of these things from this folder."""
    shown = ", ".join(f"`{key}`" for key in things[:_SHOWN]) or "nothing"
    more = f" and {len(things) - _SHOWN} more" if len(things) > _SHOWN else ""
    return _GUIDE.format(
        nodes=files.nodes,
        relationships=files.relationships,
        megabytes=files.bytes / 1e6,
        things=shown + more,
        script=SCRIPT,
        mount=shlex.quote(f"{folder}:/export:ro"),
        path=shlex.quote(str(folder / SCRIPT)),
        database="" if database == "neo4j" else f" {shlex.quote(database)}",
    )
