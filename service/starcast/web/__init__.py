"""The laboratory in a browser: an HTTP API that only reads, and pages.

The package is the extra ``starcast[web]``; only ``starcast serve`` imports it. Its endpoints call
the functions that `starcast.lab` and the command line call. docs/http-api.md describes the API, and
docs/decisions/0017-http-api.md the reasons for its security.
"""
