"""The embedded stack: Neo4j and PostgreSQL servers that need neither Docker nor installed Java."""
