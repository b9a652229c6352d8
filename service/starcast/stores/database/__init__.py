"""PostgreSQL: models, connections, migrations, bulk copies, and the repository."""
