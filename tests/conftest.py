"""What every test may ask for; the fixtures themselves stand in plugins, one a concern."""

pytest_plugins = ["fix_servers", "fix_store", "fix_graph", "fix_cli"]
