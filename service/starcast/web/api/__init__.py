"""The resources of the HTTP API: one module for each group of resources."""
