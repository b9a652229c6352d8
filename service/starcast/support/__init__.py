"""General helpers that know nothing of topologies: integers, text, files, signals, processes."""
