"""The graph store: the schema of Neo4j, the connection, writers, readers and audits."""
