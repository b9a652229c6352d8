"""The graph store: Neo4j's schema, the connection to it, the ways in and the way back."""
