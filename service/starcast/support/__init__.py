"""General helpers that do not depend on topologies: integers, text, files, signals, processes."""
