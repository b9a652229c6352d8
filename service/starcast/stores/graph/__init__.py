"""The graph store in Neo4j: schema, connection, writers, readers and audits."""
