"""starcast in a browser: pages, and an HTTP API that only reads.

This package needs the extra ``starcast[web]``; only ``starcast serve`` and ``starcast publish``
import it. Stored data is read with the operations of a `Lab`, or in sessions on its engine. What is
computed for a request (`starcast.web.computations`) comes from the mathematical packages directly,
within limits of size and time.
docs/http-api.md describes the API, and docs/decisions/0017-http-api.md explains its security.
"""
