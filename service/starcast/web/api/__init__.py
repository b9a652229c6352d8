"""The resources of the HTTP API: one module with a router for each group of resources."""
