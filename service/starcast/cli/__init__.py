"""The command line: a thin layer over the library, with one module per noun."""
