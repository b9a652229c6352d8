"""One package per paper: ``claims.toml`` holds its claims, and its modules hold their checks."""
