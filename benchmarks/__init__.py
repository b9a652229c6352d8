"""Figures, each beside a yardstick of the same run: compare ratios between machines, not seconds."""
