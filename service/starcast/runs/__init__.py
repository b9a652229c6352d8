"""The relational store: models, migrations, repository, experiments and their comparison."""
