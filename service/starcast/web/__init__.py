"""starcast in a browser: pages, and a read-only HTTP API.

This package needs the extra ``starcast[web]``; only ``starcast serve`` and ``starcast publish``
import it. Stored data is read with the operations of a `Lab`, or in sessions on its database
engine. Other results are computed by `starcast.web.computations` with the mathematical packages,
within limits of size and time. docs/http-api.md describes the API, and
docs/decisions/0017-http-api.md explains its security.
"""
