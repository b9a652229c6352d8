"""Registration of checks: the decorator `checks`, and `check_rows` for rows of tables."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from starcast.claims.check import ClaimCheck
from starcast.claims.model import BytesPerNode, CheckFunction
from starcast.support.errors import StarcastError
from starcast.topologies import Topology

Object = TypeVar("Object")
Row = TypeVar("Row")
Function = TypeVar("Function", bound=Callable[..., None])
#: Yields the prepared objects of a check, one after the other; see `starcast.claims.providers`.
Provider = Callable[[ClaimCheck], Iterable[Object]]


@dataclass(frozen=True)
class RegisteredCheck:
    """A check function with its memory estimate and the module that registered it."""

    function: CheckFunction
    bytes_per_node: BytesPerNode | None
    section: str


_CHECKS: dict[str, RegisteredCheck] = {}


def registered_checks() -> Mapping[str, RegisteredCheck]:
    """Return all registered checks by claim id."""
    return _CHECKS


def checks(
    claim_id: str,
    *,
    given: Provider[Any] | tuple[Provider[Any], ...] | None = None,
    bytes_per_node: BytesPerNode | None = None,
) -> Callable[[Function], Function]:
    """Register the decorated function as the check of a claim.

    Args:
        claim_id: id of an entry in the paper's ``claims.toml``.
        given: provider of prepared objects (see `starcast.claims.providers`). The function is
            called once per object, or with two providers once per pair of objects, the second
            varying faster. Without it the function is called once, with the `ClaimCheck` alone.
        bytes_per_node: memory estimate (default: a few arrays over all links).

    Raises:
        StarcastError: the claim already has a check.

    Example:
        >>> @checks("TS.L6", given=forests("multiple", roots=2))
        ... def link_congestion(check: ClaimCheck, forest: Forest) -> None:
        ...     loads = checkers.loads(forest.topology, forest.parent_port, forest.root)
        ...     check.at_most("trees on a link", loads, 2, of=forest)
    """

    def decorate(function: Function) -> Function:
        register(claim_id, with_objects(function, given), bytes_per_node, function.__module__)
        return function

    return decorate


def check_rows(
    function: Callable[[ClaimCheck, Row], None],
    rows: Mapping[str, Row],
    *,
    bytes_per_node: Callable[[Topology, Row], int] | None = None,
) -> None:
    """Register one check function for several claims, such as the cells of a table.

    Args:
        function: called with the `ClaimCheck` and the row of the claim.
        rows: the row of each claim, by claim id.
        bytes_per_node: memory estimate for a topology and a row.

    Raises:
        StarcastError: a claim already has a check.
    """
    for claim_id, row in rows.items():
        estimate = None if bytes_per_node is None else _row_estimate(bytes_per_node, row)
        register(claim_id, _row_check(function, row), estimate, function.__module__)


def register(
    claim_id: str,
    function: CheckFunction,
    bytes_per_node: BytesPerNode | None = None,
    section: str = "",
) -> None:
    """Register a check function for a claim; `checks` and `check_rows` are the usual ways.

    Raises:
        StarcastError: the claim already has a check.
    """
    if claim_id in _CHECKS:
        raise StarcastError(f"claim {claim_id} has two checks")
    module = section or _module_of(function)
    name = module.removeprefix("starcast.claims.papers.")
    _CHECKS[claim_id] = RegisteredCheck(function, bytes_per_node, name)


def with_objects(function: Callable[..., None], given: Any) -> CheckFunction:
    """Return a check function that calls ``function`` once per prepared object or pair."""
    if given is None:
        return function
    providers = given if isinstance(given, tuple) else (given,)
    return partial(_call_for_each, function=function, providers=providers)


def _call_for_each(
    check: ClaimCheck, *, function: Callable[..., None], providers: tuple[Provider[Any], ...]
) -> None:
    # Objects are prepared one at a time: findings that a provider records itself, such as the
    # execution of a schedule, come directly before the findings about that object.
    first, *others = providers
    for prepared in first(check):
        bound = partial(_prepend, function, prepared)
        if others:
            _call_for_each(check, function=bound, providers=tuple(others))
        else:
            bound(check)


def _prepend(function: Callable[..., None], prepared: Any, check: ClaimCheck, *others: Any) -> None:
    function(check, prepared, *others)


def _row_check(function: Callable[[ClaimCheck, Row], None], row: Row) -> CheckFunction:
    return lambda check: function(check, row)


def _row_estimate(estimate: Callable[[Topology, Row], int], row: Row) -> BytesPerNode:
    return lambda size: estimate(size, row)


def _module_of(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    return str(function.__module__)
