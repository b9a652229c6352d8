"""Records of the best known value and bound of a problem on a topology, and their combination."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import reduce
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Literal

from numpy.typing import NDArray

#: Version of the file format.
FORMAT = 1

#: The sense of a problem: whether it asks for the smallest or for the largest value.
Sense = Literal["least", "greatest"]
#: The sense of each problem, by name.
PROBLEMS: Mapping[str, Sense] = MappingProxyType(
    {
        "one-port-broadcast": "least",
        "hamiltonian-decomposition": "greatest",
        "edge-disjoint-trees": "least",
        "congestion-trees": "least",
        "independent-trees": "greatest",
        "fault-diameter": "greatest",
        "bisection-width": "least",
    }
)

#: The names of the arguments of each problem.
ARGUMENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: ("congestion",) if name == "congestion-trees" else () for name in PROBLEMS}
)

Witness = Mapping[str, NDArray[Any]]
#: Names of the arrays that prove a bound and are stored with the witness: those of a certificate of
#: inequalities, or paths.
CERTIFICATE = ("automorphisms", "vectors", "multipliers", "denominator")
EVIDENCE = ("paths", *CERTIFICATE)

#: starcast writes only LRAT. The proofs in records of older versions are in DRAT.
ProofFormat = Literal["LRAT", "DRAT", "second solver"]


@dataclass(frozen=True)
class Proof:
    """Evidence that no better value than the bound exists.

    Attributes:
        statement: the proven statement, such as ``no 3 arc-disjoint spanning trees of height 5``.
        format: ``LRAT`` or ``DRAT``, or ``second solver`` if another solver repeated the search
            instead; its answer cannot be checked.
        formula_sha256: SHA-256 of the formula in DIMACS; the problem can write the formula again.
        proof_sha256: SHA-256 of the proof; empty if there is no proof.
        proof_bytes: the length of the proof in bytes.
        checker: the programs that accepted the proof, or the second solver.
        command: the command that creates the formula and the proof again.
        seconds: the time to make and check the proof; 0 if it was not measured.
    """

    statement: str
    format: ProofFormat
    formula_sha256: str
    proof_sha256: str
    proof_bytes: int
    checker: str
    command: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Attempt:
    """One search that contributed to a record, or that ended without an answer.

    Attributes:
        method: how the search works.
        target: the value that the search was to reach.
        result: ``witness`` if the target was reached, ``none`` if it was proven impossible, and
            ``open`` otherwise.
        seconds: the time of the search.
        value: the value that the search found, if it was better than the known value; it need not
            reach the target.
        seed: the random seed; None in records of older versions.
    """

    method: str
    target: int
    result: Literal["witness", "none", "open"]
    seconds: float
    value: int | None = None
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class Record:
    """The best known object of a problem on a topology.

    Attributes:
        problem: name of the problem.
        topology: spec of the topology.
        value: the value of the witness.
        bound: no object has a better value than this.
        reason: the reason why the bound holds.
        witness: arrays by name; `starcast.records.checks` explains them.
        arguments: arguments of the problem, by name.
        proof: evidence for the bound, if it does not follow from theory.
        solver: the programs that found the witness, with their versions.
        version: the version of starcast.
        seconds: the time of all searches.
        command: the command that repeats the search.
        tried: the searches, in chronological order.
    """

    problem: str
    topology: str
    value: int
    bound: int
    reason: str
    witness: Witness
    arguments: Mapping[str, int] = field(default_factory=dict)
    proof: Proof | None = None
    solver: str = ""
    version: str = ""
    seconds: float = 0.0
    command: str = ""
    tried: tuple[Attempt, ...] = ()

    @property
    def optimal(self) -> bool:
        """True if the value is proven to be the best possible."""
        return self.value == self.bound

    @property
    def sign(self) -> Literal[1, -1]:
        """1 if the problem asks for the smallest value, -1 if it asks for the largest."""
        return 1 if PROBLEMS[self.problem] == "least" else -1

    @property
    def evidence(self) -> Witness:
        """The arrays of the witness that prove the bound."""
        return {name: array for name, array in self.witness.items() if name in EVIDENCE}

    @property
    def solution(self) -> Witness:
        """The arrays of the witness that describe the object."""
        return {name: array for name, array in self.witness.items() if name not in EVIDENCE}

    @property
    def id(self) -> str:
        """The id, such as ``one-port-broadcast:S5`` or ``congestion-trees:S4:congestion=3``."""
        parts = [self.problem, self.topology]
        parts += [f"{name}={value}" for name, value in sorted(self.arguments.items())]
        return ":".join(parts)

    def fields(self) -> dict[str, Any]:
        """Return all fields except the witness, as they are written to the JSON file."""
        values = {name: getattr(self, name) for name in FIELDS}
        values["arguments"] = dict(self.arguments)
        values["proof"] = None if self.proof is None else asdict(self.proof)
        values["tried"] = [asdict(attempt) for attempt in self.tried]
        return {"format": FORMAT, **values, "optimal": self.optimal}


#: The fields of a record except the witness.
FIELDS = tuple(each.name for each in fields(Record) if each.name != "witness")


def combine_records(records: Iterable[Record]) -> Record:
    """Combine records of one problem and topology into a record with the best value and bound.

    Records whose searches started from the same record begin with the same attempts. The result
    contains these attempts only once.

    Args:
        records: at least one record; if values are equal, the first record's witness is kept.
    """
    return reduce(_combine, records)


def is_better(record: Record, other: Record) -> bool:
    """Return whether a record is better than another record of the same problem and topology.

    It is better if its value or its bound is better and neither is worse. If both are equal, the
    evidence for the bound decides, and then the number of searches.
    """
    value = record.sign * (other.value - record.value)
    bound = record.sign * (record.bound - other.bound)
    # A record with a better value but a worse bound does not count as better. `combine_records`
    # takes the value of one record and the bound of the other.
    if value < 0 or bound < 0:
        return False
    if value > 0 or bound > 0:
        return True
    evidence = _rank_evidence(record) - _rank_evidence(other)
    return evidence > 0 or (evidence == 0 and len(record.tried) > len(other.tried))


def improve_record(known: Record | None, found: Record, keep: Callable[[Record], object]) -> Record:
    """Combine a known record with a newly found one, and return the result.

    Args:
        known: the record before the search, if there is one.
        found: the record after it.
        keep: a function that is called with the result if it is better than the known record.
    """
    record = found if known is None else combine_records([known, found])
    if known is None or is_better(record, known):
        keep(record)
    return record


def _combine(first: Record, second: Record) -> Record:
    holder = second if first.sign * (first.value - second.value) > 0 else first
    bounding = second if first.sign * (second.bound - first.bound) > 0 else first
    # If bounds are equal, the bound with better evidence is kept.
    if first.bound == second.bound and _rank_evidence(second) > _rank_evidence(first):
        bounding = second
    # Attempts that both records begin with are counted once.
    pairs = zip(first.tried, second.tried, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    added = second.tried[shared:]
    return replace(
        holder,
        witness={**holder.solution, **bounding.evidence},
        bound=bounding.bound,
        reason=bounding.reason,
        proof=bounding.proof,
        tried=(*first.tried, *added),
        seconds=round(first.seconds + sum(attempt.seconds for attempt in added), 1),
    )


def _rank_evidence(record: Record) -> int:
    """Return the rank of a bound's evidence, which is lowest for a second solver's answer."""
    if record.proof is None:
        return 1
    return {"second solver": 0, "DRAT": 2, "LRAT": 3}[record.proof.format]
