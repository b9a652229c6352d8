"""starcast in a browser: pages, and a read-only HTTP API.

The server and the static site need the extra ``starcast[web]``. Only ``starcast serve``,
``starcast publish`` and ``starcast mcp`` import this package. Stored data are read with the
operations of a `Lab`, or with SQL on the lab's database engine. Topologies, forests and schedules
are computed by `starcast.web.computations`, within limits on size and time. docs/http-api.md
describes the API, and docs/decisions/0017-http-api.md explains its security.
"""
