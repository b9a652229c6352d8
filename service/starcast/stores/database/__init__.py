"""The relational store in PostgreSQL: tables, migrations, connections, queries and backups."""
