"""Read files in which other tools describe machines: endpoints, switches and links.

Sources: the ns-3 files of ASTRA-sim (``scratch/common.h`` of astra-sim/astra-network-ns3) and SimAI
(aliyun/SimAI); ``src/graph/topo.cc`` of NVIDIA/nccl and ROCm/rccl; the platform files of SimGrid.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

from starcast.formats.network_readers import (
    READERS,
    GraphFile,
    check_count,
    fail_at,
    parse_xml,
    read_number,
)
from starcast.support.errors import InputError
from starcast.support.text import pluralize
from starcast.support.vocabulary import NetworkFormat
from starcast.topologies import memory
from starcast.topologies.network_building import LinkList
from starcast.topologies.networks import MAX_DEGREE

#: Estimated memory for the objects of a machine, in bytes per byte of the file.
_OBJECTS = 60
#: Estimated memory for a directed link, in bytes.
_ARC_BYTES = 500
_UNITLESS = re.compile(r"[0-9.]+(?:[eE][+-]?[0-9]+)?")
#: Bandwidth of a PCI Express lane in units of 100 Mbit/s, by the lane's speed in GT/s.
_LANES = {"2.5": 15, "5": 30, "8": 60, "16": 120, "32": 240, "64": 480}
#: Bandwidth of an NVLink in GB/s, rounded. Each pair has a compute capability (70 means 7.0), and
#: the bandwidth for GPUs of this or a higher capability. The first pair that applies is used.
_NVLINKS = ((100, 40), (90, 21), (87, 20), (86, 12), (70, 20), (60, 18), (0, 20))
#: Bandwidth of an xGMI link in GB/s, by the prefix of the GPU architecture's name or number.
_XGMI = {"gfx90a": 36, "910": 36, "gfx94": 48, "94": 48, "gfx95": 48, "95": 48}
_OTHER_XGMI = 24
#: Bandwidth between two CPUs of a host in GB/s. Each pair in `_INTEL` has a model number, and the
#: bandwidth for Intel CPUs with this or a higher number; the first pair that applies is used.
#: `_CPUS` has the bandwidth by vendor or architecture; all other CPUs have `_OTHER_CPUS`.
_INTEL = ((0xCF, 40), (0x8F, 22), (0x55, 10), (0, 6))
_CPUS = {"AuthenticAMD": 16, "ppc64": 32}
_OTHER_CPUS = 6
#: Bandwidth between two PCI switches in one device, in GB/s; in effect unlimited.
_PCI_LINK = 5000
#: The name of the single node for all NVLink switches; NCCL also treats them as one switch.
_NVSWITCH = "NVSwitch"
#: PCI class codes of GPUs and accelerators begin with one of these prefixes.
_GPU_CLASSES = ("0x03", "0x12")


def _read_ns3(file: GraphFile) -> LinkList:
    rows = [(line, text.split()) for line, text in file.lines("#") if text.strip()]
    first, head = rows[0] if rows else (1, [])
    if len(head) not in (3, 6):
        fail_at(first, "does not state the numbers of nodes, switches and links")
    # The first line of a SimAI file has the numbers of nodes, GPUs per server, switches in servers,
    # other switches, and links, and then the GPU type.
    counts = [read_number(word, first) for word in head[:5]]
    nodes, links, expected = counts[0], counts[-1], sum(counts[1 if len(head) == 3 else 2 : -1])
    switches, begin = list[tuple[str, int]](), 1
    for line, words in rows[1:]:
        if len(switches) >= expected or not all(word.isdigit() for word in words):
            break
        switches += [(word, line) for word in words]
        begin += 1
    rows = rows[begin:]
    for noun, count, found in (("switch", expected, switches), ("link", links, rows)):
        if count != len(found):
            plural = "es" if noun == "switch" else "s"
            given = pluralize(count, noun, noun + plural)
            fail_at(first, f"declares {given}; the file has {len(found):,}")
    for before, (word, line) in enumerate(switches):
        file.add_node(str(_read_node(word, line, nodes)), {"switch": True})
        if len(file) == before:
            fail_at(line, f"repeats the switch {word}", "list every switch once")
    for line, words in rows:
        if len(words) != 5:
            fail_at(
                line,
                f"has {pluralize(len(words), 'value')} instead of five",
                "write two nodes, bandwidth, latency and error rate",
            )
        ends = [str(_read_node(word, line, nodes)) for word in words[:2]]
        file.add_link(ends[0], ends[1], line, _rates(words[2], words[3], "bps"))
        if words[4].strip("0."):
            file.unused.add("error rates")
    check_count(file, first, nodes)
    return file.links()


def _read_node(text: str, line: int, nodes: int) -> int:
    if read_number(text, line) >= nodes:
        fail_at(line, f"names the node {text}, but nodes are numbered from 0 to {nodes - 1:,}")
    return int(text)


def _rates(bandwidth: str, latency: str, unit: str) -> list[tuple[str, str]]:
    """Return the attributes ``capacity`` and ``latency`` of a link as pairs of name and value.

    A bandwidth without a unit gets the given unit, such as "bps"; a latency without a unit is in
    seconds.
    """
    given = {"capacity": (bandwidth, unit), "latency": (latency, "s")}
    return [
        (name, text + missing if _UNITLESS.fullmatch(text) else text)
        for name, (text, missing) in given.items()
    ]


@dataclass
class _Device:
    """A CPU or PCI device of a machine.

    Attributes:
        line: the number of the device's line in the file.
        kind: ``cpu``, ``pci``, ``nic``, ``accelerator``, or ``gpu`` for a PCI device that contains
            an element ``gpu`` or, in a file without such elements, for every accelerator.
        name: the name of the device in the network.
        host: the hash of the device's host.
        bus: the PCI bus id as an integer; -1 for a CPU.
        values: the attributes of the device's XML element or of the element ``gpu`` in it.
        cpu: the CPU to which a PCI device belongs; None for a CPU.
    """

    line: int
    kind: str
    name: str
    host: str
    bus: int
    values: Mapping[str, str]
    cpu: "_Device | None" = None


class _Arc(NamedTuple):
    """A directed link, with its line in the file, the names of its ends, and its bandwidth."""

    line: int
    start: str
    end: str
    bandwidth: str


class _SystemReader:
    """Reads an XML file of NCCL or RCCL, which lists the devices of one or more hosts."""

    def __init__(self, file: GraphFile) -> None:
        self._file = file
        #: For each open XML element, its device or else the device of the enclosing element.
        self._open = list[_Device | None]()
        self._devices = list[_Device]()
        #: Each PCI device, with its parent device and the bandwidth between the two.
        self._tree = list[tuple[_Device, _Device, str]]()
        #: The XML elements of all other links: line, enclosing device, name and attributes.
        self._links = list[tuple[int, _Device, str, dict[str, str]]]()

    def begin(self, line: int, name: str, values: dict[str, str]) -> None:
        """Read the start tag of an XML element."""
        above = self._open[-1] if self._open else None
        device = above
        if not self._open and name != "system":
            fail_at(line, f"begins the element '{name}'", "use the root element 'system'")
        if name == "cpu":
            title = f"CPU {_get(line, name, values, 'numaid')}"
            device = _Device(line, "cpu", title, values.get("host_hash", ""), -1, values)
            self._devices.append(device)
        elif above is None:
            if name != "system":
                fail_at(line, f"has the element '{name}' outside of a CPU")
        elif name == "pci":
            bus, kind = _get(line, name, values, "busid"), values.get("class", "")
            kinds = {"accelerator": _GPU_CLASSES, "nic": ("0x02",), "pci": ("",)}
            kind = next(each for each, classes in kinds.items() if kind.startswith(classes))
            number = _bus_number(bus, line)
            device = _Device(
                line, kind, f"PCI {bus}", above.host, number, values, above.cpu or above
            )
            self._devices.append(device)
            width = read_number(values.get("link_width", "0"), line) or 16
            speed = re.split(r"\.0\b| ", values.get("link_speed", ""))[0]
            self._tree.append((device, above, f"{100 * width * _LANES.get(speed, 60)}Mbps"))
        elif name == "gpu":
            if above.cpu is None:
                fail_at(line, "has a GPU outside of a PCI device")
            above.kind, above.values = "gpu", values
        elif name in ("nvlink", "xgmi", "c2c", "pcilink"):
            self._links.append((line, above, name, values))
        self._open.append(device)

    def end(self, _: str) -> None:
        """Read the end tag of an XML element."""
        self._open.pop()

    def finish(self) -> LinkList:
        """Return the GPUs, the switches between them, and their links."""
        self._name_devices()
        gpus = {device.name for device in self._devices if device.kind == "gpu"}
        if any(device.kind == "nic" for device in self._devices):
            self._file.unused.add("network interfaces")
        arcs = [*self._tree_arcs(), *self._cpu_arcs(), *self._other_arcs()]
        kept = _without_leaves(arcs, gpus)
        for name in (device.name for device in self._devices):
            if name in gpus or name in kept:
                self._file.add_node(name, {"switch": name not in gpus})
        for line, start, end, bandwidth in arcs:
            if start in kept and end in kept:
                self._file.add_link(start, end, line, [("capacity", bandwidth)])
        if _NVSWITCH in kept:
            self._file.add_node(_NVSWITCH, {"switch": True})
        return self._file.links(is_directed=True)

    def _name_devices(self) -> None:
        """Name each GPU by its number, and make the names of other devices unique."""
        hosts = list(dict.fromkeys(device.host for device in self._devices))
        count = Counter[str]()
        for device in self._devices:
            if len(hosts) > 1:
                device.name = f"host {hosts.index(device.host)} {device.name}"
            count[device.name] += 1
            # A switch may be listed at several places, so a repeated name gets a number.
            if count[device.name] > 1:
                device.name += f" ({count[device.name]})"
        if not any(device.kind == "gpu" for device in self._devices):
            # Files that users write may lack `gpu` elements; then accelerators are read as GPUs.
            for device in self._devices:
                device.kind = "gpu" if device.kind == "accelerator" else device.kind
        gpus = [device for device in self._devices if device.kind == "gpu"]
        if not gpus:
            raise InputError("the file lists no GPU", hint="use a file with at least two GPUs")
        for gpu, number in zip(gpus, _number_gpus(gpus), strict=True):
            gpu.name = number

    def _tree_arcs(self) -> Iterator[_Arc]:
        for device, parent, bandwidth in self._tree:
            for start, end in permutations((device.name, parent.name)):
                yield _Arc(device.line, start, end, bandwidth)

    def _cpu_arcs(self) -> Iterator[_Arc]:
        cpus = defaultdict[str, list[_Device]](list)
        for device in self._devices:
            if device.kind == "cpu":
                cpus[device.host].append(device)
                if len(cpus[device.host]) > MAX_DEGREE:
                    fail_at(device.line, f"has more than {MAX_DEGREE} CPUs of one host")
        count = sum(len(group) ** 2 for group in cpus.values())
        memory.require(_ARC_BYTES * count, f"{count:,} links between CPUs", "use a smaller file")
        for group in cpus.values():
            for u, v in permutations(group, 2):
                yield _Arc(u.line, u.name, v.name, f"{min(_cpu_rate(u), _cpu_rate(v))}GBps")

    def _other_arcs(self) -> Iterator[_Arc]:
        """Yield the directed links of `_links`, such as NVLinks and links between GPUs and CPUs.

        A link between two GPUs or two PCI switches is listed at both ends, so each of its two XML
        elements yields one direction. A link to a CPU or an NVSwitch is listed once, and yields
        both directions.
        """
        places = dict[tuple[str, int], _Device]()
        for device in sorted(self._devices, key=lambda device: device.kind == "gpu"):
            place = device.host, device.bus
            if device.kind == "gpu" and place in places and places[place].kind == "gpu":
                fail_at(device.line, "repeats the bus number of another GPU")
            places[place] = device
        for line, device, name, values in self._links:
            target, kind = values.get("target", ""), values.get("tclass", "")
            count = read_number(values.get("count", "1"), line)
            bandwidth = f"{count * _link_rate(device, name)}GBps"
            if name == "c2c":
                speed = read_number(_get(line, name, values, "bw"), line)
                bandwidth = f"{count * speed}MBps"
            if name == "c2c" or kind == "0x068001":
                other = (device.cpu or device).name
            elif name in ("nvlink", "xgmi") and kind and not kind.startswith(_GPU_CLASSES):
                other = _NVSWITCH
            else:
                found = places.get((device.host, _bus_number(target, line)))
                if found and (found.kind == "gpu" or name == "pcilink"):
                    yield _Arc(line, device.name, found.name, bandwidth)
                else:
                    # NCCL ignores such links too: a file may list only a part of the machine.
                    self._file.unused.add("links to devices that the file does not list")
                continue
            for start, end in permutations((device.name, other)):
                yield _Arc(line, start, end, bandwidth)


def _without_leaves(arcs: Sequence[_Arc], gpus: set[str]) -> set[str]:
    """Return the nodes that remain after switches with a single neighbour are removed repeatedly.

    A switch with a single neighbour forwards nothing.
    """
    others = defaultdict[str, set[str]](set)
    for arc in arcs:
        others[arc.start].add(arc.end)
        others[arc.end].add(arc.start)
    leaves = [name for name in others if len(others[name]) == 1]
    for leaf in leaves:
        if leaf not in gpus and others[leaf]:
            (other,) = others.pop(leaf)
            others[other].remove(leaf)
            leaves += [other] if len(others[other]) == 1 else []
    return {*others}


def _get(line: int, name: str, values: Mapping[str, str], key: str) -> str:
    if key not in values:
        fail_at(line, f"has the element '{name}' without '{key}'")
    return values[key]


def _bus_number(bus: str, line: int) -> int:
    """Return a PCI bus id, such as 0000:3b:00.0, as a number; leading zeros are ignored."""
    try:
        return int(re.sub("[:.]", "", bus), 16)
    except ValueError:
        fail_at(line, f"has '{bus}' instead of a PCI bus id, such as 0000:3b:00.0")


def _number_gpus(gpus: list[_Device]) -> list[str]:
    """Return a label for each GPU: its attribute `rank` or else `dev`, or else its index.

    An attribute is used only if its values are numbers and differ between all GPUs.
    """
    for key in ("rank", "dev"):
        found = [gpu.values.get(key, "") for gpu in gpus]
        if all(re.fullmatch("[0-9]{1,9}", text) for text in found):
            numbers = [str(int(text)) for text in found]
            if len(set(numbers)) == len(gpus):
                return numbers
    return [str(place) for place in range(len(gpus))]


def _link_rate(gpu: _Device, name: str) -> int:
    """Return the bandwidth in GB/s of a device's link, given the name of the link's XML element."""
    if name == "pcilink":
        return _PCI_LINK
    if name == "xgmi":
        found = (rate for key, rate in _XGMI.items() if gpu.values.get("gcn", "").startswith(key))
        return next(found, _OTHER_XGMI)
    capability = read_number(gpu.values.get("sm", "0"), gpu.line)
    return next(rate for first, rate in _NVLINKS if capability >= first)


def _cpu_rate(cpu: _Device) -> int:
    """Return the bandwidth in GB/s between a CPU and the other CPUs of its host."""
    vendor = cpu.values.get("vendor", "")
    if vendor == "GenuineIntel":
        model = read_number(cpu.values.get("modelid", "0"), cpu.line)
        return next(rate for first, rate in _INTEL if model >= first)
    return _CPUS.get(vendor) or _CPUS.get(cpu.values.get("arch", ""), _OTHER_CPUS)


def _read_system(file: GraphFile) -> LinkList:
    memory.require(_OBJECTS * len(file.text), "the devices of a machine", "use a smaller file")
    reader = _SystemReader(file)
    parse_xml(file.text, reader.begin, reader.end)
    return reader.finish()


@dataclass
class _Route:
    """A route in a SimGrid file; if ``is_symmetric``, it can be used in both directions."""

    line: int
    ends: tuple[str, str]
    links: list[str]
    is_symmetric: bool


class _PlatformReader:
    """Reads the elements of a platform file of SimGrid."""

    def __init__(self, file: GraphFile) -> None:
        self._file = file
        self._links: dict[str, dict[str, str]] = {}
        self._routes = list[_Route]()

    def begin(self, line: int, name: str, values: dict[str, str]) -> None:
        """Read the start tag of an XML element."""
        if name in ("host", "router"):
            before = len(self._file)
            node = _get(line, name, values, "id")
            self._file.add_node(node, {"switch": name == "router"})
            if len(self._file) == before:
                fail_at(line, f"repeats the {name} '{node}'", "give every node a different `id`")
        elif name == "link":
            if (link := _get(line, name, values, "id")) in self._links:
                fail_at(line, f"repeats the link '{link}'", "give every link a different `id`")
            self._links[link] = values
        elif name in ("route", "zoneRoute", "ASroute"):
            prefix = "" if name == "route" else "gw_"
            ends = [_get(line, name, values, prefix + end) for end in ("src", "dst")]
            is_symmetric = values.get("symmetrical", "YES").upper() != "NO"
            self._routes.append(_Route(line, (ends[0], ends[1]), [], is_symmetric))
        elif name == "link_ctn" and self._routes:
            self._routes[-1].links.append(_get(line, name, values, "id"))
        elif name in _PLATFORM_OTHERS:
            fail_at(
                line,
                f"has the element '{name}', which is not supported",
                "write hosts, routers, links, and routes with one link",
            )

    def finish(self) -> LinkList:
        """Return hosts and routers, and a link for each route that has one link.

        A route of several links is ignored; each of these links must also have its own route.

        Raises:
            InputError: a route has no link, or has several links of which one has no route of its
                own; a route is invalid; or routes between different pairs of nodes share a link
                whose sharing policy is not FATPIPE.
        """
        routes = [route for route in self._routes if route.ends[0] != route.ends[1]]
        ends_of = defaultdict[str, set[frozenset[str]]](set)
        arcs = set[tuple[str, str]]()
        for route in routes:
            if len(route.links) == 1:
                self._add(route, arcs)
                ends_of[route.links[0]].add(frozenset(route.ends))
        for route in routes:
            if len(route.links) != 1 and not (route.links and {*route.links} <= ends_of.keys()):
                u, v = route.ends
                fail_at(
                    route.line,
                    f"has a route of {len(route.links)} links from '{u}' to '{v}'",
                    "write routers between the links, and a route for each link",
                )
            is_shared = self._links[route.links[0]].get("sharing_policy", "").upper() != "FATPIPE"
            if len(route.links) == 1 < len(ends_of[route.links[0]]) and is_shared:
                fail_at(
                    route.line,
                    f"uses the link '{route.links[0]}', which routes of other nodes use too",
                    "write a router, and link all of these nodes to it",
                )
        return self._file.links(is_directed=True)

    def _add(self, route: _Route, arcs: set[tuple[str, str]]) -> None:
        """Add the only link of a route to the network, in the directions of the route.

        Raises:
            InputError: the link is not defined, an end of the route is neither a host nor a router,
                or another route has the same ends.
        """
        name = route.links[0]
        if name not in self._links:
            fail_at(route.line, f"uses the link '{name}', which the file does not define")
        values = self._links[name]
        before = len(self._file)
        latency = values.get("latency", "0")
        rates = _rates(_get(route.line, "link", values, "bandwidth"), latency, "Bps")
        u, v = route.ends
        for arc in [(u, v), (v, u)] if route.is_symmetric else [(u, v)]:
            if arc in arcs:
                fail_at(route.line, f"repeats the route from '{arc[0]}' to '{arc[1]}'")
            arcs.add(arc)
            self._file.add_link(*arc, route.line, rates)
        if len(self._file) > before:
            fail_at(route.line, f"joins '{u}' to '{v}', which are not both hosts or routers")


#: Unsupported SimGrid elements, which define further nodes, links or routes.
_PLATFORM_OTHERS = (
    "cluster", "cabinet", "peer", "backbone", "host_link", "bypassRoute", "bypassZoneRoute",
    "bypassASroute", "include",
)  # fmt: skip


def _read_platform(file: GraphFile) -> LinkList:
    memory.require(_OBJECTS * len(file.text), "the links of a platform", "use a smaller file")
    reader = _PlatformReader(file)
    # SimGrid files usually declare this document type, which is not fetched.
    parse_xml(file.text, reader.begin, doctype="platform")
    return reader.finish()


#: The readers of all network files, including machine files, by format.
ALL_READERS: dict[NetworkFormat, Callable[[GraphFile], Any]] = {
    **READERS, "ns3": _read_ns3, "nccl-xml": _read_system, "simgrid": _read_platform,
}  # fmt: skip
