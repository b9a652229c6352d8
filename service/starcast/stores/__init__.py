"""Both stores: their schemas, connections, writers and readers."""
