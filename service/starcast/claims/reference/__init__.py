"""Reference computations for checks: the papers' definitions, counts, searches, exact arithmetic.

They share no code with the constructions and schedules that are compared with them.
"""
