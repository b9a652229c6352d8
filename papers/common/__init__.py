"""Functions that the checks of several papers share."""
