"""Numbers in sentences, and sentences."""

import re

_WORD = re.compile(r"[a-z]{3,}[ ,:]")


def pluralize(number: int, one: str, many: str = "") -> str:
    """A number and what it counts: ``1 run``, ``1,000 runs``.

    Args:
        number: how many there are.
        one: what one of them is called, with its verb where that follows: ``run``, ``unit is``.
        many: what others are called; ``one`` with an s unless given.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def sentence(text: str) -> str:
    """Text as a sentence: with a capital where it begins with a word and not with a symbol, and with a full stop."""
    begun = text[:1].upper() + text[1:] if _WORD.match(text) else text
    return begun if begun.endswith(".") or not begun else f"{begun}."
