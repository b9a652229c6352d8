"""The HTTP API: a module for each group of resources, and two for responses and errors."""
