"""The command line, most of whose commands are created from the methods of `starcast.lab.Lab`."""
