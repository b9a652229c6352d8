"""Propositional formulas for tests of solvers and proofs."""

from starcast.search.engines import Formula


def pigeons(count: int) -> Formula:
    """Return the unsatisfiable formula that puts ``count`` pigeons into ``count - 1`` holes."""
    formula = Formula()
    place = formula.new(count, count - 1)
    for row in place.tolist():
        formula.add(*row)
    for column in place.T.tolist():
        formula.at_most_one(column)
    return formula
