"""Compare stored runs: matching, tables, curves, crossovers and pages."""
