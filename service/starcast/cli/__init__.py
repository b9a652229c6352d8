"""The command line: a thin layer over the operations of `starcast.lab`."""
