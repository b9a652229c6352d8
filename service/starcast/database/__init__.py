"""PostgreSQL: models, connections and migrations, bulk copies, and the repository of stored objects."""
