#!/usr/bin/env python3
"""Check the witnesses of records from their definitions, in plain Python.

python3 check.py                               all records next to this file
python3 check.py one-port-broadcast/S9.json    some records

It needs Python 3.9 or newer, and shares no code with starcast. A record is accepted if the file of
its witness has the stated SHA-256, and the object in it has the stated value. Why nothing better
exists, the bound of a record, is not checked here.

Nodes are numbered in the lexicographic order of their labels, from 0: the permutations of 1..n for
S_n, k different symbols of 1..n for S_{n,k}, d bits for Q_d.
"""

import array
import ast
import hashlib
import itertools
import json
import pathlib
import sys
import zipfile

TYPES = {"b1": "B", "u1": "B", "i1": "b", "u2": "H", "i2": "h", "u4": "I", "i4": "i", "i8": "q"}


def require(condition, reason):
    """Reject the witness unless a condition holds."""
    if not condition:
        raise ValueError(reason)


# Files and topologies


def read_arrays(path):
    """Return the arrays of an npz file by name: lists of numbers, or lists of rows."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            require(content[:6] == b"\x93NUMPY", "not an array")
            end = 10 + int.from_bytes(content[8:10], "little")
            header = ast.literal_eval(content[10:end].decode())
            values = array.array(TYPES[header["descr"][1:]], content[end:]).tolist()
            require(not header["fortran_order"], "the array is stored by columns")
            if len(header["shape"]) == 2:
                rows, width = header["shape"]
                values = [values[row * width : (row + 1) * width] for row in range(rows)]
            found[name.removesuffix(".npy")] = values
    return found


def neighbours(spec):
    """Return the neighbour of every node across each port: ``table[port][node]``."""
    n, _, k = spec[1:].partition(",")
    n, k = int(n), int(k or n)
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


def tree_depths(ports, table):
    """Return the parents and depths of the nodes of a tree that spans the topology, with root 0."""
    nodes = len(ports)
    require(nodes == len(next(iter(table.values()))), "a tree has another number of nodes")
    require(ports[0] == 0, "the root has a parent")
    parents = [0] + [table[ports[node]][node] for node in range(1, nodes)]
    depths = [0] + [-1] * (nodes - 1)
    for node in range(nodes):
        path = []
        while depths[node] < 0:
            path.append(node)
            require(len(path) <= nodes, "a path to the root is a cycle")
            node = parents[node]
        for distance, each in enumerate(reversed(path), depths[node] + 1):
            depths[each] = distance
    return parents, depths


# Problems: each function returns the value of a witness


def one_port_broadcast(witness, table, arguments):
    """Count rounds: a node sends after it was informed, and to one neighbour per round."""
    ports, rounds = witness["parent_port"], witness["round"]
    parents, _ = tree_depths(ports, table)
    nodes = range(1, len(parents))
    require(rounds[0] == 0, "the root is informed by another node")
    require(all(rounds[v] > rounds[parents[v]] for v in nodes), "a node sends too early")
    require(len({(parents[v], rounds[v]) for v in nodes}) == len(nodes), "a node sends twice")
    return max(rounds)


def hamiltonian_decomposition(witness, table, arguments):
    """Count Hamiltonian cycles, given by their ports from node 0, that share no link."""
    nodes, links = len(next(iter(table.values()))), set()
    for ports in witness["ports"]:
        path = [0]
        for port in ports:
            path.append(table[port][path[-1]])
        require(path[-1] == 0 and len(set(path)) == len(ports) == nodes, "not Hamiltonian")
        links |= {frozenset(link) for link in zip(path, path[1:])}
    require(len(links) == len(witness["ports"]) * nodes, "two cycles share a link")
    return len(witness["ports"])


def congestion_trees(witness, table, arguments):
    """Return the height of degree-many trees that use each directed link a limited number of times."""
    rows, limit, height = witness["parent_port"], arguments.get("congestion", 1), 0
    require(len(rows) == len(table), "there are not as many trees as ports")
    uses = {}
    for ports in rows:
        parents, depths = tree_depths(ports, table)
        height = max(height, *depths)
        for node in range(1, len(ports)):
            link = parents[node], node
            uses[link] = uses.get(link, 0) + 1
    require(max(uses.values()) <= limit, f"a directed link is used by more than {limit} trees")
    return height


def independent_trees(witness, table, arguments):
    """Count trees without common links, where no node is inner in two of them (Hasunuma 2001)."""
    rows, links, inner = witness["parent_port"], set(), []
    for ports in rows:
        parents, _ = tree_depths(ports, table)
        degrees = [1] * len(ports)
        degrees[0] = 0
        for node in range(1, len(ports)):
            degrees[parents[node]] += 1
            links.add(frozenset((node, parents[node])))
        inner += [node for node, degree in enumerate(degrees) if degree > 1]
    require(len(links) == len(rows) * (len(rows[0]) - 1), "two trees share a link")
    require(len(set(inner)) == len(inner), "a node is inner in two trees")
    return len(rows)


def fault_diameter(witness, table, arguments):
    """Return the distance of the pair of nodes without the faulty nodes."""
    (start, end), faults = witness["pair"], witness["faults"]
    require(len(faults) < len(table), "too many nodes are faulty")
    distances, front = {start: 0}, [start]
    require({start, end, *faults} <= set(range(len(table[2]))), "a node does not exist")
    require(start not in faults and end not in faults, "a node of the pair is faulty")
    for node in front:
        for port in table:
            near = table[port][node]
            if near not in distances and near not in faults:
                distances[near] = distances[node] + 1
                front.append(near)
    require(end in distances, "the faults separate the pair")
    return distances[end]


def bisection_width(witness, table, arguments):
    """Count the links between two halves."""
    side = witness["side"]
    require(len(side) == len(table[2]), "the sides have another number of nodes")
    require(set(side) <= {0, 1} and abs(2 * sum(side) - len(side)) <= 1, "not two halves")
    return sum(side[u] != side[v] for row in table.values() for u, v in enumerate(row)) // 2


CHECKS = {
    "one-port-broadcast": one_port_broadcast,
    "hamiltonian-decomposition": hamiltonian_decomposition,
    "edge-disjoint-trees": congestion_trees,
    "congestion-trees": congestion_trees,
    "independent-trees": independent_trees,
    "fault-diameter": fault_diameter,
    "bisection-width": bisection_width,
}


def check(path):
    """Return the fields of a record after checking its witness."""
    record = json.loads(path.read_text())
    file = path.with_name(record["witness"]["file"])
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    require(digest == record["witness"]["sha256"], "the witness has another SHA-256")
    witness, table = read_arrays(file), neighbours(record["topology"])
    value = CHECKS[record["problem"]](witness, table, record["arguments"])
    require(value == record["value"], f"the witness has the value {value}, not {record['value']}")
    return record


def main():
    """Check the named records, by default all; the exit code is 1 if one is rejected."""
    folder = pathlib.Path(__file__).parent
    rejected = 0
    for path in map(pathlib.Path, sys.argv[1:] or sorted(folder.glob("*/*.json"))):
        try:
            record = check(path)
            print(f"accepted {record['problem']}:{record['topology']}: value {record['value']}")
        except (ValueError, KeyError, IndexError) as error:
            rejected += 1
            print(f"REJECTED {path}: {error}")
    sys.exit(rejected > 0)


if __name__ == "__main__":
    main()
