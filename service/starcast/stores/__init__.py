"""PostgreSQL and Neo4j stores: schemas, connections, writers and readers."""
