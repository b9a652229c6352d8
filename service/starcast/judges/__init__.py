"""Check schedules and forests without using the code that builds them.

The simulator executes schedules; block verification examines forests that are given by formulas.
"""
