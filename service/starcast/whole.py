"""Arithmetic of whole numbers."""


def ceiling(numerator: int, denominator: int) -> int:
    """The least whole number that is not below numerator / denominator, for a positive denominator."""
    return -(-numerator // denominator)
