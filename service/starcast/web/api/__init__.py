"""The HTTP API: one module per group of resources, and two modules for responses and errors."""
