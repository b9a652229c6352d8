"""The command line, whose commands are made from the methods of `starcast.lab.Lab`."""
