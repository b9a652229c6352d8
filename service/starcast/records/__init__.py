"""Records: the best known objects of search problems, with witnesses and proofs.

A record is stored in a JSON file, and its witness in an npz file in the same folder. `verify`
computes the value of a witness from the problem's definition, independently of the search that
found the witness.
"""

from starcast.records.checks import PROBLEM_NAMES, verify, witness_value
from starcast.records.files import (
    Published,
    find_record,
    known_folders,
    load_all,
    load_record,
    path_of,
    published_values,
    shipped_folder,
    shipped_record,
)
from starcast.records.model import Attempt, Proof, Record, Witness, is_better

__all__ = [
    "PROBLEM_NAMES",
    "Attempt",
    "Proof",
    "Published",
    "Record",
    "Witness",
    "find_record",
    "is_better",
    "known_folders",
    "load_all",
    "load_record",
    "path_of",
    "published_values",
    "shipped_folder",
    "shipped_record",
    "verify",
    "witness_value",
]
