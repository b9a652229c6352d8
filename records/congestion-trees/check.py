#!/usr/bin/env python3
"""Check records of spanning trees with bounded congestion, from the definition and in plain Python.

There are as many trees as a node has ports; each row of ``parent_port`` has the port of every node
to its parent, and 0 at the root, node 0. At most ``congestion`` trees, an argument of the record,
use the same link in the same direction. The value is the largest height.

python3 check.py             all records next to this file
python3 check.py S5.json     some records

Nodes are numbered from 0 in the lexicographic order of their labels: the permutations of 1..n for
S_n, k different symbols of 1..n for S_{n,k}, n bits for Q_n. The files of all problems differ only
in this text and in the first function. Nothing here is shared with starcast.
"""

import array
import ast
import hashlib
import itertools
import json
import pathlib
import sys
import zipfile


def measure(witness, table, arguments):
    """Return the largest height of as many spanning trees as ports with a limited congestion."""
    rows, limit, height = witness["parent_port"], arguments["congestion"], 0
    require(len(rows) == len(table), "there are not as many trees as ports")
    uses = {}
    for ports in rows:
        require(len(ports) == len(table[max(table)]), "not one entry for each node")
        require(ports[0] == 0, "the root has a parent")
        parents = [table[port][node] if node else 0 for node, port in enumerate(ports)]
        for start in range(1, len(ports)):
            link = (parents[start], start)
            uses[link] = uses.get(link, 0) + 1
            require(uses[link] <= limit, f"a link is used by more than {limit} trees")
            node, depth = start, 0
            while node and depth <= len(ports):
                node, depth = parents[node], depth + 1
            require(node == 0, "a way to the root is a cycle")
            height = max(height, depth)
    return height


def require(condition, reason):
    """Reject the witness unless a condition holds."""
    if not condition:
        raise ValueError(reason)


def neighbours(spec):
    """Return the neighbour of every node across each port: ``table[port][node]``."""
    n, k = map(int, f"{spec[1:]},{spec[1:]}".split(",")[:2])
    if spec[0] == "Q":
        return {port: [node ^ 1 << n - port for node in range(2**n)] for port in range(1, n + 1)}
    require(spec[0] == "S", f"unknown topology {spec}")
    labels = list(itertools.permutations(range(n), k))
    rank = {label: number for number, label in enumerate(labels)}
    return {port: [rank[cross(label, port, n)] for label in labels] for port in range(2, n + 1)}


def cross(label, port, n):
    """Exchange the symbols 1 and ``port``; or take the next symbols that are not in the label."""
    if port <= len(label):
        return (label[port - 1], *label[1 : port - 1], label[0], *label[port:])
    others = [(label[0] + step) % n for step in range(1, n)]
    unused = [symbol for symbol in others if symbol not in label]
    return (unused[port - len(label) - 1], *label[1:])


def read_arrays(path):
    """Return the arrays of an npz file by name: lists of numbers, or lists of rows."""
    types = {"b1": "B", "u1": "B", "i1": "b", "u2": "H", "i2": "h", "u4": "I", "i4": "i", "i8": "q"}
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            end = 10 + int.from_bytes(content[8:10], "little")
            header = ast.literal_eval(content[10:end].decode())
            require(not header["fortran_order"], "an array is stored by columns")
            values = array.array(types[header["descr"][1:]], content[end:]).tolist()
            for width in header["shape"][1:]:
                values = [values[start : start + width] for start in range(0, len(values), width)]
            arrays[name.removesuffix(".npy")] = values
    return arrays


def check(path):
    """Return the fields of a record after checking its witness."""
    record = json.loads(path.read_text())
    file = path.with_name(record["witness"]["file"])
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    require(digest == record["witness"]["sha256"], "the witness has another SHA-256")
    value = measure(read_arrays(file), neighbours(record["topology"]), record["arguments"])
    require(value == record["value"], f"the witness has the value {value}, not {record['value']}")
    return record


if __name__ == "__main__":
    for each in map(
        pathlib.Path, sys.argv[1:] or sorted(pathlib.Path(__file__).parent.glob("*.json"))
    ):
        try:
            accepted = check(each)
        except (ValueError, KeyError, IndexError) as error:
            sys.exit(f"REJECTED {each}: {error}")
        print(f"accepted {accepted['problem']}:{accepted['topology']}: value {accepted['value']}")
