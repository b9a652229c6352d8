"""One package per paper: ``claims.toml`` holds its claims, one module per section their checks."""
