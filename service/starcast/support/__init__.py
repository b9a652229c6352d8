"""General helpers without domain knowledge: integers, arrays, text, files, signals, processes."""
