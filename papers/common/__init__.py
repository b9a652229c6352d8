"""What the checks of several papers share."""
