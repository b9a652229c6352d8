"""Fragopoulou & Akl, edge-disjoint spanning trees, section 4.3: broadcasting that survives faults."""

from collections.abc import Iterable
from math import factorial

import numpy as np

from starcast.claims.declaration import Family, only, stars
from starcast.claims.formulas import diameter
from starcast.claims.instruments import cutting
from starcast.claims.instruments.cutting import Faulty
from starcast.claims.see import See
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div

FAMILY = Family("edge_disjoint_faults")
claim = FAMILY.claim

_EXECUTED = 12


def _divisors(n: int) -> list[int]:
    """The numbers of copies that divide n-1."""
    return [x for x in range(1, n) if (n - 1) % x == 0]


def _messages(n: int) -> Iterable[int]:
    """One message, fewer than there are trees, as many, and more."""
    return sorted({1, 2, n - 2, n - 1, n})


def _made(see: See, messages: int, copies: int) -> Schedule:
    made = see.lab.schedule(
        see.where.spec, "broadcast", "edge-disjoint", messages=messages, copies=copies
    )
    see.executed(made)
    return made


def _survives(see: See, messages: int, copies: int) -> None:
    """Any copies - 1 faults beside the source leave everybody healthy with every message.

    That no fault cuts two copies to a node decides it for all sets; the sets are gone through beside, all of up to two faults
    where they are few and some that are drawn, and some are executed.
    """
    made = _made(see, messages, copies)
    faulty = Faulty(see.lab, see.where)
    found = cutting.cuts(see.lab, made, faulty)
    used = [len(cutting.copies_of(made, unit)) for unit in range(made.units)]
    place = {"M": messages, "x": copies}
    see.equal(
        "subtrees that carry a message",
        used,
        copies,
        message=np.arange(made.units),
        of=made,
        **place,
    )
    kept = cutting.at_once(found, faulty)
    worst = np.unravel_index(int(kept.argmax()), kept.shape)
    named = {
        "message": worst[0],
        "faults": faulty.told([int(worst[1])]),
        "node": see.where.label(int(worst[2])),
    }
    see.equal(
        "copies that a fault keeps from a node, at most",
        int(kept.max()),
        1,
        of=made,
        **place,
        **named,
    )
    sets = faulty.sets(copies - 1)
    missing = cutting.lacking(found, faulty, sets)
    see.equal(
        "healthy nodes without a message",
        missing,
        0,
        faults=lambda i: faulty.told(sets[i]),
        of=made,
        **place,
    )
    for faults in sets[:: max(1, len(sets) // _EXECUTED)]:
        took = see.lab.simulation(made, [faulty.what(int(fault)) for fault in faults])
        see.equal(
            "missing when executed", took.missing, 0, faults=faulty.told(faults), of=made, **place
        )


@claim(
    "EDT.FT.survives",
    "Section 4.3",
    stars(6, 6, 6),
    "With n-1 copies, whatever n-2 nodes but the source or links are down, every healthy node gets every message; a copy goes "
    "on in its subtree only.",
    weight=lambda where: 16 * where.degree * where.nodes,
)
def _all_copies(see: See) -> None:
    for messages in (1, 2) if see.where.n <= 5 else (1,):
        _survives(see, messages, see.where.n - 1)


@claim(
    "EDT.FT.copies",
    "Section 4.3",
    stars(6, 6, 6),
    "With x copies, x dividing n-1, whatever x-1 nodes but the source or links are down, each healthy node has every message.",
    weight=lambda where: 16 * where.degree * where.nodes,
)
def _some_copies(see: See) -> None:
    n = see.where.n
    for copies in _divisors(n):
        for messages in sorted({1, (n - 1) // copies}):
            _survives(see, messages, copies)


@claim(
    "EDT.FT.steps",
    "Section 4.3",
    stars(6, 7, 7),
    "x copies of M messages, x dividing n-1, take at most ceil(Mx/(n-1)) + D_n + 3 steps; n-1 copies M + D_n + 3.",
)
def _steps(see: See) -> None:
    n = see.where.n
    for copies in _divisors(n):
        for messages in _messages(n):
            made = _made(see, messages, copies)
            steps = see.executed(made).steps
            see.at_most(
                "steps",
                steps,
                ceil_div(messages * copies, n - 1) + diameter(n) + 3,
                M=messages,
                x=copies,
                of=made,
            )
            if copies == n - 1:
                see.at_most(
                    "steps with n-1 copies",
                    steps,
                    messages + diameter(n) + 3,
                    M=messages,
                    x=copies,
                    of=made,
                )


@claim(
    "EDT.FT.transmissions",
    "Section 4.3",
    stars(6, 7, 7),
    "x copies of M messages, x dividing n-1, take Mx(n!-1) transmissions; n-1 copies M(n-1)(n!-1).",
)
def _transmissions(see: See) -> None:
    n = see.where.n
    for copies in _divisors(n):
        for messages in _messages(n):
            made = _made(see, messages, copies)
            stated = messages * copies * (factorial(n) - 1)
            see.equal(
                "transmissions",
                see.executed(made).transmissions,
                stated,
                M=messages,
                x=copies,
                of=made,
            )


@claim(
    "EDT.FT.divides",
    "Section 4.3",
    stars(6, 6, 6, least=4),
    "For no x < n that does not divide n-1 and no M can M messages be dealt, x copies each, to the n-1 subtrees so that "
    "ceil(Mx/(n-1)) + h - 1 steps suffice, h the depth, and any x-1 faults are survived; from n = 4 on there is such an x.",
    reading='"Must divide .. to work properly" (the formula is damaged): no dealing works for other x. Copies dealt '
    "like cards, x in a row to x different subtrees, are held against it.",
    weight=lambda where: 64 * where.degree * where.nodes,
)
def _divides(see: See) -> None:
    n = see.where.n
    instead = see.instead(
        "dealt like cards, x copies of any M messages take ceil(Mx/(n-1)) + h - 1 steps and survive x-1 faults"
    )
    for copies in range(1, n):
        for messages in range(1, n + 1):
            if n > 4 and (messages, copies) not in ((1, 2), (1, 3), (3, 3), (n - 1, 2), (n, 3)):
                continue
            made = see.lab.schedule(
                see.where.spec, "broadcast", "edge-disjoint", messages=messages, copies=copies
            )
            stated = ceil_div(messages * copies, n - 1) + _height(see) - 1
            steps, kept = see.lab.simulation(made).steps, _apart(see, made, copies)
            place = {"x": copies, "M": messages}
            if (n - 1) % copies:
                done = int(kept and steps <= stated and see.lab.simulation(made).complete)
                see.equal("dealings that suffice", done, 0, of=made, **place)
            instead.equal("steps", steps, stated, **place)
            instead.true("any x-1 faults are survived", kept, **place)


def _height(see: See) -> int:
    """The depth of EDT: what one message down one subtree takes."""
    one = see.lab.schedule(see.where.spec, "broadcast", "edge-disjoint", messages=1, copies=1)
    return see.lab.simulation(one).steps


def _apart(see: See, made: Schedule, copies: int) -> bool:
    """Every message goes down so many subtrees, and no fault keeps two copies from a healthy node."""
    faulty = Faulty(see.lab, see.where)
    kept = cutting.at_once(cutting.cuts(see.lab, made, faulty), faulty)
    used = [len(cutting.copies_of(made, unit)) for unit in range(made.units)]
    return bool(kept.max() <= 1) and set(used) == {copies}


@claim(
    "EDT.FT-example",
    "Section 4.3, example",
    only("S5"),
    "On S_5, two copies: M messages in two packets of M/2, M = 2 and 4, each packet over two subtrees and the other over the "
    "other two; every single node but the source or link may be down. Any two subtrees would do.",
)
def _example(see: See) -> None:
    for messages in (2, 4):
        made = _made(see, messages, 2)
        along = [tuple(cutting.copies_of(made, unit)) for unit in range(made.units)]
        packets = sorted(set(along))
        see.equal("packets", len(packets), 2, M=messages, of=made)
        see.equal(
            "messages of a packet",
            [along.count(packet) for packet in packets],
            messages // 2,
            M=messages,
            of=made,
        )
        see.equal(
            "subtrees",
            [tree for packet in packets for tree in packet],
            np.arange(4),
            M=messages,
            of=made,
        )
        _survives(see, messages, 2)
    made = _made(see, 1, 4)
    faulty = Faulty(see.lab, see.where)
    found = cutting.cuts(see.lab, made, faulty)[0]
    for one in range(len(found)):
        for other in range(one):
            pair, sets = found[None, [other, one]], faulty.sets(1)
            missing = cutting.lacking(pair, faulty, sets)
            see.equal(
                "healthy nodes without the message",
                missing,
                0,
                subtrees=f"{other + 2}, {one + 2}",
                of=made,
            )
