"""Check schedules and forests without trusting the code that builds them.

The simulator executes schedules; block verification examines forests that are given by formulas.
"""
