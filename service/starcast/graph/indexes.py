"""Whether the declared indexes and constraints are there and do their work."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starcast.graph.audit import REBUILD, WHOLE, Finding
from starcast.graph.connection import Graph
from starcast.graph.schema import LABELS, RELATIONSHIPS, Label


@dataclass(frozen=True)
class Declared:
    """An index or a constraint as the schema has it: its name, what it is on, and the Cypher that makes it."""

    name: str
    on: str
    statement: str

    @property
    def noun(self) -> str:
        """``constraint`` or ``index``."""
        return "constraint" if self.statement.startswith("CREATE CONSTRAINT") else "index"


@dataclass(frozen=True)
class Fault:
    """A declared index that is not there, or not as declared; then ``drop`` is the Cypher that makes way for the right one."""

    declared: Declared
    state: str
    drop: str | None


def findings(graph: Graph) -> list[Finding]:
    """The declared indexes and constraints that are not there, not online, or of something else."""
    return [_finding(fault) for fault in _faults(graph)]


def _finding(fault: Fault) -> Finding:
    declared = fault.declared
    sentence = f"the {declared.noun} {declared.name} on {declared.on} is {fault.state}"
    cypher = "; ".join(filter(None, [fault.drop, declared.statement]))
    return Finding(WHOLE, sentence, fault.state, "ONLINE", f"in Neo4j: {cypher}; or {REBUILD}")


def make_way(graph: Graph) -> None:
    """Drop what bears the name of a declared index or constraint and is not as declared."""
    for fault in _faults(graph):
        if fault.drop:
            graph.write(fault.drop)


def _faults(graph: Graph) -> Iterator[Fault]:
    there = {row["name"]: row for row in graph.read(_INDEXES)}
    unique = {row["name"] for row in graph.read(_CONSTRAINTS)}
    for declared in _declared():
        if declared.name not in there:
            yield Fault(declared, "missing", None)
            continue
        state = _state(declared, there[declared.name], unique=declared.name in unique)
        if state is not None:
            noun = "CONSTRAINT" if declared.name in unique else "INDEX"
            yield Fault(declared, state, f"DROP {noun} {declared.name}")


_INDEXES = "SHOW INDEXES YIELD name, state, labelsOrTypes, properties RETURN name, state, labelsOrTypes, properties"
_CONSTRAINTS = "SHOW CONSTRAINTS YIELD name, type WHERE type CONTAINS 'UNIQUENESS' RETURN name"


def _declared() -> list[Declared]:
    found = []
    for thing in (*LABELS, *RELATIONSHIPS):
        by = [*thing.unique, *thing.indexes] if isinstance(thing, Label) else list(thing.indexes)
        for name, properties, statement in zip(
            thing.index_names(), by, thing.statements(), strict=True
        ):
            found.append(Declared(name, f"{thing.name}({', '.join(properties)})", statement))
    return found


def _state(declared: Declared, row: dict[str, Any], *, unique: bool) -> str | None:
    """What is wrong with an index of that name, None where nothing is."""
    on = f"{(row['labelsOrTypes'] or ['nothing'])[0]}({', '.join(row['properties'] or [])})"
    if on != declared.on:
        return f"on {on}"
    if unique != (declared.noun == "constraint"):
        return "unique" if unique else "not unique"
    return None if row["state"] == "ONLINE" else str(row["state"])
