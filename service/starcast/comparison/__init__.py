"""Compare stored runs: match them, and show the matches as tables, plots, crossovers and pages."""
