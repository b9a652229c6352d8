"""The command line, whose commands are created from the methods of `starcast.lab.Lab`."""
