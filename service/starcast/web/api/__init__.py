"""The resources of the HTTP API: one module per group, each with a router."""
