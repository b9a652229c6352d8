"""Fragopoulou & Akl, edge-disjoint spanning trees, section 4.3: broadcasting that survives faults."""

from collections.abc import Iterable
from math import factorial

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.reference import fault_cuts
from starcast.claims.reference.fault_cuts import PossibleFaults
from starcast.claims.registry import check
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div

_EXECUTED = 12


def _divisors(n: int) -> list[int]:
    """The numbers of copies that divide n-1."""
    return [x for x in range(1, n) if (n - 1) % x == 0]


def _messages(n: int) -> Iterable[int]:
    """One message, fewer than there are trees, as many, and more."""
    return sorted({1, 2, n - 2, n - 1, n})


def _made(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    made = check.objects.schedule(
        check.topology.spec, "broadcast", "edge-disjoint", messages=messages, copies=copies
    )
    check.execute(made)
    return made


def _survives(check: ClaimCheck, messages: int, copies: int) -> None:
    """Any copies - 1 faults beside the source leave everybody healthy with every message.

    That no fault cuts two copies to a node decides it for all sets; the sets are gone through beside, all of up to two faults
    where they are few and some that are drawn, and some are executed.
    """
    made = _made(check, messages, copies)
    faulty = PossibleFaults(check.objects, check.topology)
    found = fault_cuts.blocked_copies(check.objects, made, faulty)
    used = [len(fault_cuts.trees_of_unit(made, unit)) for unit in range(made.units)]
    place = {"M": messages, "x": copies}
    check.equal(
        "subtrees that carry a message",
        used,
        copies,
        message=np.arange(made.units),
        of=made,
        **place,
    )
    kept = fault_cuts.count_blocked_copies(found, faulty)
    worst = np.unravel_index(int(kept.argmax()), kept.shape)
    named = {
        "message": worst[0],
        "faults": faulty.describe([int(worst[1])]),
        "node": check.topology.label(int(worst[2])),
    }
    check.equal(
        "copies that a fault keeps from a node, at most",
        int(kept.max()),
        1,
        of=made,
        **place,
        **named,
    )
    sets = faulty.sets(copies - 1)
    missing = fault_cuts.count_missing(found, faulty, sets)
    check.equal(
        "healthy nodes without a message",
        missing,
        0,
        faults=lambda i: faulty.describe(sets[i]),
        of=made,
        **place,
    )
    for faults in sets[:: max(1, len(sets) // _EXECUTED)]:
        took = check.objects.simulation(made, [faulty.fault(int(fault)) for fault in faults])
        check.equal(
            "missing when executed",
            took.missing,
            0,
            faults=faulty.describe(faults),
            of=made,
            **place,
        )


@check("EDT.FT.survives", bytes_per_node=lambda topology: 16 * topology.degree * topology.nodes)
def _all_copies(check: ClaimCheck) -> None:
    for messages in (1, 2) if check.topology.n <= 5 else (1,):
        _survives(check, messages, check.topology.n - 1)


@check("EDT.FT.copies", bytes_per_node=lambda topology: 16 * topology.degree * topology.nodes)
def _some_copies(check: ClaimCheck) -> None:
    n = check.topology.n
    for copies in _divisors(n):
        for messages in sorted({1, (n - 1) // copies}):
            _survives(check, messages, copies)


@check("EDT.FT.steps")
def _steps(check: ClaimCheck) -> None:
    n = check.topology.n
    for copies in _divisors(n):
        for messages in _messages(n):
            made = _made(check, messages, copies)
            steps = check.execute(made).steps
            check.at_most(
                "steps",
                steps,
                ceil_div(messages * copies, n - 1) + diameter(n) + 3,
                M=messages,
                x=copies,
                of=made,
            )
            if copies == n - 1:
                check.at_most(
                    "steps with n-1 copies",
                    steps,
                    messages + diameter(n) + 3,
                    M=messages,
                    x=copies,
                    of=made,
                )


@check("EDT.FT.transmissions")
def _transmissions(check: ClaimCheck) -> None:
    n = check.topology.n
    for copies in _divisors(n):
        for messages in _messages(n):
            made = _made(check, messages, copies)
            stated = messages * copies * (factorial(n) - 1)
            check.equal(
                "transmissions",
                check.execute(made).transmissions,
                stated,
                M=messages,
                x=copies,
                of=made,
            )


@check("EDT.FT.divides", bytes_per_node=lambda topology: 64 * topology.degree * topology.nodes)
def _divides(check: ClaimCheck) -> None:
    n = check.topology.n
    instead = check.correction(
        "dealt like cards, x copies of any M messages take ceil(Mx/(n-1)) + h - 1 steps and survive x-1 faults"
    )
    for copies in range(1, n):
        for messages in range(1, n + 1):
            if n > 4 and (messages, copies) not in ((1, 2), (1, 3), (3, 3), (n - 1, 2), (n, 3)):
                continue
            made = check.objects.schedule(
                check.topology.spec, "broadcast", "edge-disjoint", messages=messages, copies=copies
            )
            stated = ceil_div(messages * copies, n - 1) + _height(check) - 1
            steps, kept = check.objects.simulation(made).steps, _apart(check, made, copies)
            place = {"x": copies, "M": messages}
            if (n - 1) % copies:
                done = int(kept and steps <= stated and check.objects.simulation(made).complete)
                check.equal("dealings that suffice", done, 0, of=made, **place)
            instead.equal("steps", steps, stated, **place)
            instead.true("any x-1 faults are survived", kept, **place)


def _height(check: ClaimCheck) -> int:
    """The depth of EDT: what one message down one subtree takes."""
    one = check.objects.schedule(
        check.topology.spec, "broadcast", "edge-disjoint", messages=1, copies=1
    )
    return check.objects.simulation(one).steps


def _apart(check: ClaimCheck, made: Schedule, copies: int) -> bool:
    """Every message goes down so many subtrees, and no fault keeps two copies from a healthy node."""
    faulty = PossibleFaults(check.objects, check.topology)
    kept = fault_cuts.count_blocked_copies(
        fault_cuts.blocked_copies(check.objects, made, faulty), faulty
    )
    used = [len(fault_cuts.trees_of_unit(made, unit)) for unit in range(made.units)]
    return bool(kept.max() <= 1) and set(used) == {copies}


@check("EDT.FT-example")
def _example(check: ClaimCheck) -> None:
    for messages in (2, 4):
        made = _made(check, messages, 2)
        along = [tuple(fault_cuts.trees_of_unit(made, unit)) for unit in range(made.units)]
        packets = sorted(set(along))
        check.equal("packets", len(packets), 2, M=messages, of=made)
        check.equal(
            "messages of a packet",
            [along.count(packet) for packet in packets],
            messages // 2,
            M=messages,
            of=made,
        )
        check.equal(
            "subtrees",
            [tree for packet in packets for tree in packet],
            np.arange(4),
            M=messages,
            of=made,
        )
        _survives(check, messages, 2)
    made = _made(check, 1, 4)
    faulty = PossibleFaults(check.objects, check.topology)
    found = fault_cuts.blocked_copies(check.objects, made, faulty)[0]
    for one in range(len(found)):
        for other in range(one):
            pair, sets = found[None, [other, one]], faulty.sets(1)
            missing = fault_cuts.count_missing(pair, faulty, sets)
            check.equal(
                "healthy nodes without the message",
                missing,
                0,
                subtrees=f"{other + 2}, {one + 2}",
                of=made,
            )
