"""Numbers in sentences."""


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts: ``1 run``, ``1,000 runs``.

    Args:
        number: how many there are.
        one: what one of them is called, with its verb where that follows: ``run``, ``unit is``.
        many: what others are called; ``one`` with an s unless given.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
