"""The embedded stack: Neo4j and PostgreSQL, which starcast runs without Docker or Java."""
