"""The embedded stack: Neo4j and PostgreSQL without Docker and without a Java installation."""
