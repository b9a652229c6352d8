"""Functions shared by the checks of several papers."""
