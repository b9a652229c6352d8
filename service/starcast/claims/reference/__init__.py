"""Reference computations for checks: definitions of the papers, counts, searches, exact arithmetic.

They share no code with the constructions and schedules that they are compared with.
"""
