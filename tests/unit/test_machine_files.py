"""Reading machine files of ns-3, NCCL, RCCL and SimGrid, and errors for invalid files."""

from collections import Counter, defaultdict
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast import Network, network
from starcast.support.errors import StarcastError
from starcast.support.progress import ProgressLines, Silent
from support.meeting import refused

#: Capacity in bit/s and latency (in the unit of the network) of each link, which is given by the
#: labels of its ends.
Links = dict[frozenset[str], tuple[float, int]]


def links(made: Network) -> Links:
    """Return the capacity in bit/s and the latency of each link, by the labels of its ends."""
    stored, labels = made.as_json(), made.labels().tolist()
    capacities = stored["capacities"] or [1] * made.links
    latencies = stored["latencies"] or [0] * made.links
    return {
        frozenset((labels[u], labels[v])): (capacity * made.capacity_unit, latency)
        for (u, v, _), capacity, latency in zip(stored["links"], capacities, latencies, strict=True)
    }


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Return a function that writes a file and reads it as a network."""

    def write_and_read(content: str, file: str = "mine.xml", **options: Any) -> Network:
        (tmp_path / file).write_text(content)
        return network(tmp_path / file, **{"reporter": Silent(), **options})

    return write_and_read


NS3 = """6 1 6
5
0 5 100Gbps 0.5us 0
1 5 100Gbps 0.5us 0
2 5 100Gbps 0.5us 0.1
2 5 300Gbps 0.5us 0
3 4 12.5GBps 1us 0
4 5 100000Mbps 2us 0
"""


def test_capacities_latencies_and_switches_of_ns3_files_are_read(read: Any) -> None:
    """The file has five hosts and one switch. Two parallel links have a total of 400 Gbit/s.

    The capacity 12.5 GB/s is read as 100 Gbit/s.
    """
    lines: list[str] = []
    made = read(NS3, "mine.txt", reporter=ProgressLines(lines.append))
    assert (made.nodes, made.endpoints, made.links) == (6, 5, 5)
    assert links(made) == {
        frozenset("05"): (100e9, 500),
        frozenset("15"): (100e9, 500),
        frozenset("25"): (400e9, 500),
        frozenset("34"): (100e9, 1000),
        frozenset("45"): (100e9, 2000),
    }
    assert lines == [
        f"1 parallel link was merged in {made.spec}; their capacities add up",
        f"a capacity of 1 in {made.spec} is 1e+11 bit/s",
        f"the latencies of {made.spec} are in nanoseconds: use nanoseconds for T_s and T_c too",
        f"{made.spec} does not use all data of mine.txt: error rates",
    ]


def test_ns3_files_without_switches_and_simai_files_are_read(read: Any) -> None:
    """The ns-3 file has a blank line instead of a list of switches.

    The SimAI file has two kinds of switches, and its name has no suffix.
    """
    ring = "4 0 4\n\n" + "".join(f"{node} {(node + 1) % 4} 25Gbps 5us 0\n" for node in range(4))
    made = read(ring, "ring.txt")
    assert (made.nodes, made.endpoints, made.latencies.max()) == (4, 4, 5)
    simai = "5 2 1 2 7 A100\n2 3 \n4\n"
    rows = ["0 2", "1 2", "0 3", "1 3", "0 4", "1 4", "3 4"]
    made = read(simai + "".join(f"{ends} 1e9 1e-6 0.0\n" for ends in rows), "Spectrum-X_2g")
    assert (made.nodes, made.endpoints, made.degree) == (5, 2, 3)
    # Both formats use bits per second and seconds for numbers without a unit.
    assert set(links(made).values()) == {(1e9, 1)}


#: Link bandwidths from `topo.cc` of NCCL and RCCL in GB/s; those of GPU links are rounded.
NVLINKS = {60: 18, 70: 20, 80: 20, 86: 12, 90: 21, 100: 40}
XGMI = {"906": 24, "908": 24, "910": 36, "gfx90a:sramecc+": 36, "gfx942": 48}
LANES = {"2.5 GT/s": 0.1875, "5.0 GT/s PCIe": 0.375, "8 GT/s": 0.75, "16.0 GT/s PCIe": 1.5,
         "32.0 GT/s PCIe": 3}  # fmt: skip


def name_of(device: ET.Element) -> str:
    """Return the label of a device: a CPU, a GPU inside a PCI device, or another PCI device."""
    if device.tag == "cpu":
        return f"CPU_{device.get('numaid')}"
    gpu = device.find("gpu")
    return "PCI_" + device.attrib["busid"].replace(":", "_") if gpu is None else gpu.attrib["rank"]


def oracle(text: str) -> tuple[int, Links]:
    """Return the number of GPUs and the links in an NCCL or RCCL file with one host.

    The file is read by ElementTree. Nodes with a single link, except GPUs, are removed one by one.
    """
    root = ET.fromstring(text)  # noqa: S314
    widths = defaultdict[frozenset[str], float](float)
    names = {device.get("busid"): name_of(device) for device in root.iter("pci")}
    for parent in root.iter():
        for device in parent.findall("pci"):
            lanes = int(device.attrib["link_width"]) or 16
            widths[frozenset((name_of(device), name_of(parent)))] += (
                LANES[device.attrib["link_speed"]] * lanes
            )
    for gpu in root.iter("gpu"):
        for link in gpu:
            is_amd = link.tag == "xgmi"
            rate = XGMI[gpu.attrib["gcn"]] if is_amd else NVLINKS[int(gpu.attrib["sm"])]
            other = names.get(link.attrib["target"], "NVSwitch")
            if other == "NVSwitch" or gpu.attrib["rank"] < other:
                ends = frozenset((gpu.attrib["rank"], other))
                widths[ends] += rate * int(link.attrib["count"])
    for pair in combinations(root.iter("cpu"), 2):
        widths[frozenset(map(name_of, pair))] = 16
    gpus = {gpu.attrib["rank"] for gpu in root.iter("gpu")}
    while True:
        count = Counter(name for pair in widths for name in pair)
        leaf = next((name for name in count if count[name] == 1 and name not in gpus), None)
        if leaf is None:
            return len(gpus), {pair: (width * 8e9, 0) for pair, width in widths.items()}
        del widths[next(pair for pair in widths if leaf in pair)]


def machine(seed: int) -> str:
    """Return the XML of a random machine with one or two CPUs and one kind of GPU links."""
    random = Random(seed)  # noqa: S311
    root = ET.Element("system", version="1")
    is_amd = random.random() < 0.5
    places: list[ET.Element] = []
    for number in range(random.choice((1, 2))):
        values = {"numaid": str(number), "arch": "x86_64", "vendor": "AuthenticAMD"}
        places.append(ET.SubElement(root, "cpu", values))
    devices: list[ET.Element] = []
    for number in range(random.randrange(3, 14)):
        values = {
            "busid": f"0000:{number + 16:x}:00.0",
            "class": "0x060400",
            "link_speed": random.choice(list(LANES)),
            "link_width": random.choice(("0", "4", "8", "16")),
        }
        device = ET.SubElement(random.choice(places), "pci", values)
        if random.random() < 0.5 or number < 2:
            device.set("class", random.choice(("0x030200", "0x120000")))
            devices.append(device)
        elif random.random() < 0.3:
            device.set("class", "0x020000")
            ET.SubElement(ET.SubElement(device, "nic"), "net", dev="0")
        else:
            places.append(device)
    ranks = random.sample(range(10), len(devices)) if len(devices) <= 10 else []
    kind = (
        {"gcn": random.choice(list(XGMI))} if is_amd else {"sm": str(random.choice(list(NVLINKS)))}
    )
    gpus = [
        ET.SubElement(device, "gpu", {"dev": str(place), "rank": str(rank), **kind})
        for place, (device, rank) in enumerate(zip(devices, ranks, strict=True))
    ]
    has_switch = not is_amd and random.random() < 0.3
    for first, gpu in enumerate(gpus):
        if has_switch:
            for switch in range(2):
                ET.SubElement(
                    gpu, "nvlink", target=f"0000:f{switch}:00.0", count="6", tclass="0x068000"
                )
        for second in range(first) if not has_switch else ():
            count = random.choice((0, 1, 2, 4))
            for one, other in ((first, second), (second, first)) if count else ():
                ET.SubElement(
                    gpus[one],
                    "xgmi" if is_amd else "nvlink",
                    # NVML writes bus numbers with more leading zeros than the operating system.
                    target=random.choice(("", "0000")) + devices[other].get("busid", ""),
                    count=str(count),
                    tclass=devices[other].get("class", ""),
                )
    ET.indent(root)
    return ET.tostring(root, encoding="unicode")


@pytest.mark.parametrize("seed", range(60))
def test_the_reader_of_nccl_and_rccl_files_agrees_with_a_second_reader(
    read: Any, seed: int
) -> None:
    """Both readers find the same GPUs, links and capacities in the files of random machines."""
    text = machine(seed)
    made = read("<!--\n - Licence\n" + " - words\n" * 1000 + " -->\n" + text)
    gpus, expected = oracle(text.replace('target="00000000', 'target="0000'))
    assert made.endpoints == gpus
    found = links(made)
    assert found.keys() == expected.keys()
    assert [found[pair] for pair in expected] == [
        pytest.approx(values) for values in expected.values()
    ]
    assert made.nodes == len(set().union(*expected))


GPU = '<pci busid="0:{0}:0.0" class="0x030200"{2}><gpu dev="{0}" sm="90" rank="{1}">{3}</gpu></pci>'


def gpu(number: int, rank: int, *inside: str, of: str = "") -> str:
    """Return the XML of a GPU in an NCCL file, with the given child elements."""
    return GPU.format(number, rank, of, "".join(inside))


def nvlink(target: str, tclass: str, count: int = 18) -> str:
    """Return the XML element for a number of NVLinks to a device."""
    return f'<nvlink target="{target}" count="{count}" tclass="{tclass}"/>'


SWITCH = nvlink("fffffff:ffff:ff", "0x068000")


def system(*cpus: str, values: str = 'vendor="GenuineIntel" modelid="143"') -> str:
    """Return the text of an NCCL file, given the XML of the devices of each CPU."""
    inside = "\n".join(
        f'<cpu numaid="{number}" {values}>\n{devices}\n</cpu>'
        for number, devices in enumerate(cpus)
    )
    return f'<system version="1">\n{inside}\n</system>\n'


def test_gpus_are_numbered_in_the_order_of_their_ranks(read: Any) -> None:
    """The label of a GPU is its rank in the job. The ranks in a file need not begin at 0."""
    text = system(gpu(1, 11, SWITCH) + gpu(2, 9, SWITCH), gpu(3, 10, SWITCH))
    made = read(text)
    assert made.labels().tolist()[:3] == ["9", "10", "11"]
    assert (made.nodes, made.endpoints) == (6, 3)
    # PCIe 3.0 x16 has 12 GB/s, each of 18 NVLinks 21 GB/s, and two CPUs of this model 22 GB/s.
    assert links(made) == {
        frozenset(("9", "CPU_0")): (96e9, 0),
        frozenset(("11", "CPU_0")): (96e9, 0),
        frozenset(("10", "CPU_1")): (96e9, 0),
        frozenset(("CPU_0", "CPU_1")): (176e9, 0),
        **{frozenset((rank, "NVSwitch")): (18 * 168e9, 0) for rank in ("9", "10", "11")},
    }


@pytest.mark.parametrize(
    ("values", "rate"),
    [
        ('vendor="GenuineIntel" modelid="79"', 6),
        ('vendor="GenuineIntel" modelid="85"', 10),
        ('vendor="GenuineIntel" modelid="207"', 40),
        ('vendor="AuthenticAMD" modelid="207"', 16),
        ('arch="ppc64"', 32),
        ('arch="arm64"', 6),
    ],
)
def test_capacities_between_cpus_depend_on_the_cpu_model(read: Any, values: str, rate: int) -> None:
    made = read(system(gpu(1, 0), gpu(2, 1), values=values))
    assert links(made)[frozenset(("CPU_0", "CPU_1"))] == (rate * 8e9, 0)


def test_files_without_gpu_elements_or_with_direct_cpu_links_are_read(read: Any) -> None:
    """Azure's files have no `gpu` element. Grace and POWER9 CPUs have direct links to GPUs.

    In the last file, a `pcilink` joins two PCIe switches.
    """
    device = '<pci busid="0:{}:0.0" class="{}">{}</pci>'
    inside = [device.format(number, "0x030200", "") for number in (1, 2)]
    inside += [device.format(3, "0x020700", "<nic/>")]
    lines: list[str] = []
    made = read(system("".join(inside)), reporter=ProgressLines(lines.append))
    assert links(made) == {frozenset((rank, "CPU_0")): (96e9, 0) for rank in "01"}
    assert lines[-1].endswith("does not use all data of mine.xml: network interfaces")
    made = read(system(gpu(1, 0, '<c2c bw="44712" count="10"/>') + gpu(2, 1)))
    assert links(made)[frozenset(("0", "CPU_0"))] == (8e6 * (447120 + 12000), 0)
    made = read(system(gpu(1, 0, nvlink("0:9:0.0", "0x068001", 3)) + gpu(2, 1)))
    assert links(made)[frozenset(("0", "CPU_0"))] == (8e9 * (63 + 12), 0)
    switches = [
        device.format(
            f"a{mine}", "0x060400", f'<pcilink target="0:a{other}:0.0"/>' + gpu(mine, mine)
        )
        for mine, other in ((0, 1), (1, 0))
    ]
    made = read(system("".join(switches)))
    assert links(made)[frozenset(("PCI_0_a0_0.0", "PCI_0_a1_0.0"))] == (40e12, 0)


def test_a_file_may_list_a_part_of_a_machine_or_several_hosts(read: Any) -> None:
    """NVLinks to GPUs that are not listed are ignored. Hosts may use the same device numbers."""
    lines: list[str] = []
    made = read(
        system(gpu(1, 0, nvlink("0:7:0.0", "0x030200")) + gpu(2, 1)),
        reporter=ProgressLines(lines.append),
    )
    assert made.links == 2
    assert "links to devices that the file does not list" in lines[-1]
    text = system(gpu(1, 0, SWITCH)) + system(gpu(1, 1, SWITCH))
    text = text.replace('</system>\n<system version="1">', "").replace(
        "<cpu", '<cpu host_hash="0x1"', 1
    )
    made = read(text)
    assert links(made) == {frozenset((rank, "NVSwitch")): (18 * 168e9, 0) for rank in "01"}


PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="world" routing="Floyd">
  <host id="b" speed="1Gf"><prop id="x" value="y"/></host><host id="a" speed="1Gf"/>
  <router id="r"/>
  <link id="one" bandwidth="125MBps" latency="50us"/>
  <link id="two" bandwidth="250e6" latency="0.25" sharing_policy="SPLITDUPLEX"/>
  <link id="loop" bandwidth="498MBps" latency="15us" sharing_policy="FATPIPE"/>
  <route src="a" dst="a"><link_ctn id="loop"/></route>
  <route src="a" dst="r"><link_ctn id="one"/></route>
  <route src="r" dst="b" symmetrical="NO"><link_ctn id="two" direction="UP"/></route>
  <route src="b" dst="r" symmetrical="NO"><link_ctn id="two" direction="DOWN"/></route>
  <route src="a" dst="b"><link_ctn id="one"/><link_ctn id="two"/></route>
</zone></platform>
"""


def test_simgrid_platform_files_are_read(read: Any) -> None:
    """Loopback routes and routes over several links do not become links.

    Numbers without a unit are in bytes/s or in seconds.
    """
    made = read(PLATFORM)
    assert made.labels().tolist() == ["a", "b", "r"]
    assert made.endpoints == 2
    assert links(made) == {frozenset("ar"): (1e9, 50), frozenset("br"): (2e9, 250_000)}
    zones = PLATFORM.replace("<zone", '<zone id="outer"><zone').replace("</zone>", "</zone></zone>")
    zones = zones.replace(
        'route src="a" dst="r"', 'zoneRoute src="x" dst="y" gw_src="a" gw_dst="r"'
    )
    zones = zones.replace('"one"/></route>', '"one"/></zoneRoute>')
    assert links(read(zones)) == links(made)


#: Invalid machine files, each with a part of the error message.
BAD = {
    "ns-3: too few links": (NS3.replace("6 1 6", "6 1 7"), "line 1 declares 7 links; the file"),
    "ns-3: comments only": ("# nothing\n", "line 1 does not state the numbers"),
    "ns-3: too few switches": (
        NS3.replace("6 1 6", "6 2 6"), "line 1 declares 2 switches; the file has 1",
    ),
    "ns-3: a switch twice": (
        NS3.replace("6 1 6\n5\n", "6 2 6\n5 5\n"), "line 2 repeats the switch 5",
    ),
    "ns-3: huge counts": (NS3.replace("6 1 6", "999999999999 1 6"), "declares 999,999,999,999"),
    "ns-3: a node without links": (NS3.replace("6 1 6", "7 1 6"), "declares 7 nodes; the number"),
    "ns-3: an unknown node": (NS3.replace("1 5", "1 6"), "line 4 names the node 6"),
    "ns-3: an unknown switch": (NS3.replace("\n5\n", "\n8\n"), "line 2 names the node 8"),
    "ns-3: no error rate": (NS3.replace("2us 0", "2us"), "line 8 has 4 values instead of five"),
    "ns-3: a loop": (NS3.replace("4 5 ", "4 4 "), "line 8: a link joins '4' to itself"),
    "ns-3: a latency in furlongs": (
        NS3.replace("2us", "2fl"), "line 8: the link from '4' to '5' has the latency '2fl'",
    ),
    "ns-3: no capacity": (
        NS3.replace("12.5GBps", "0Gbps"), "line 7: the link from '3' to '4' has the capacity 0Gbps",
    ),
    "ns-3: two components": (
        NS3.replace("4 5 100000Mbps 2us", "4 3 1Gbps 1us"), "is not connected",
    ),
    "NCCL: no GPU": (system('<pci busid="0:1:0.0" class="0x020000"/>'), "lists no GPU"),
    "NCCL: a DOCTYPE": ("<!DOCTYPE system>" + system(), "line 1 declares a document type"),
    "NCCL: entities": (
        '<?xml version="1.0"?>\n<!DOCTYPE system [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>' + system(),
        "line 2 declares a document type",
    ),
    "NCCL: another root": ("<x><system>\n</system></x>", "line 1 begins the element 'x'"),
    "NCCL: a device outside": (
        '<system>\n<pci busid="0:1:0.0"/></system>', "line 2 has the element 'pci' outside of a",
    ),
    "NCCL: a GPU in no device": (system('<gpu dev="0"/>'), "line 3 has a GPU outside of a PCI"),
    "NCCL: no bus id": (system('<pci class="0x03"/>'), "line 3 has the element 'pci' without"),
    "NCCL: a bad bus id": (system('<pci busid="x"/>'), "line 3 has 'x' instead of a PCI bus id"),
    "NCCL: a GPU twice": (
        system(gpu(1, 0) + "\n" + gpu(1, 1)), "line 4 repeats the bus number of another GPU",
    ),
    "NCCL: no speed": (system(gpu(1, 0, '<c2c count="1"/>')), "line 3 has the element 'c2c'"),
    "NCCL: a bad count": (
        system(gpu(1, 0, nvlink("0:2:0.0", "0x03", -1))), "line 3 has '-1' instead of a number",
    ),
    "NCCL: zero links": (
        system(gpu(1, 0, nvlink("0:2:0.0", "0x03", 0)) + gpu(2, 1, nvlink("0:1:0.0", "0x03", 0))),
        "line 3: the link from '0' to '1' has the capacity 0GBps",
    ),
    "NCCL: one direction": (
        system(gpu(1, 0, nvlink("0:2:0.0", "0x03")) + gpu(2, 1)),
        "line 3: the link from '0' to '1' has no reverse",
    ),
    "NCCL: two counts": (
        system(
            gpu(1, 0, nvlink("0:2:0.0", "0x03", 2)) + gpu(2, 1, nvlink("0:1:0.0", "0x03", 3))
        ),
        "the link from '0' to '1' and its reverse have different capacities",
    ),
    "NCCL: many CPUs": (system(gpu(1, 0), *[""] * 253), "has more than 253 CPUs of one host"),
    "NCCL: damaged": (system("<pci"), "line 4 is not XML"),
    "SimGrid: entities": (
        PLATFORM.replace('.dtd">', '.dtd" [<!ENTITY a "b">]>'), "line 2 declares a document type",
    ),
    "SimGrid: another DOCTYPE": (
        PLATFORM.replace("E platform", "E other"), "line 2 declares a document type",
    ),
    "SimGrid: a cluster": (
        PLATFORM.replace('<router id="r"/>', '<cluster id="r"/>'),
        "line 5 has the element 'cluster', which is not supported",
    ),
    "SimGrid: an unknown link": (
        PLATFORM.replace('<link id="one"', '<link id="1"'),
        "line 10 uses the link 'one', which the file does not define",
    ),
    "SimGrid: an unknown node": (
        PLATFORM.replace('src="a" dst="r"', 'src="a" dst="s"'),
        "line 10 joins 'a' to 's', which are not both hosts or routers",
    ),
    "SimGrid: a node twice": (
        PLATFORM.replace('router id="r"', 'router id="b"'), "line 5 repeats the router 'b'",
    ),
    "SimGrid: a link twice": (
        PLATFORM.replace('link id="two"', 'link id="one"'), "line 7 repeats the link 'one'",
    ),
    "SimGrid: a route twice": (
        PLATFORM.replace('src="r" dst="b"', 'src="r" dst="a"'),
        "line 11 repeats the route from 'r' to 'a'",
    ),
    "SimGrid: a shared link": (
        PLATFORM.replace('"one"/><link_ctn id="two"/>', '"one"/>'),
        "line 10 uses the link 'one', which routes of other nodes use too",
    ),
    "SimGrid: a long route": (
        PLATFORM.replace('"one"/><link_ctn id="two"/>', '"one"/><link_ctn id="loop2"/>'),
        "line 13 has a route of 2 links from 'a' to 'b'",
    ),
    "SimGrid: one direction": (
        PLATFORM.replace('src="b" dst="r"', 'src="b" dst="b"'),
        "line 11: the link from 'r' to 'b' has no reverse",
    ),
    "SimGrid: a route without links": (
        PLATFORM.replace('"r"><link_ctn id="one"/>', '"r">'),
        "line 10 has a route of 0 links from 'a' to 'r'",
    ),
    "SimGrid: no bandwidth": (
        PLATFORM.replace('bandwidth="125MBps"', ""), "has the element 'link' without 'bandwidth'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_the_error_for_an_invalid_machine_file_names_the_reason(read: Any, case: str) -> None:
    text, words = BAD[case]
    with refused("mine", words):
        read(text, "mine.xml", file_format="ns3" if case.startswith("ns-3") else None)


SAMPLES = [NS3, machine(7), system(gpu(1, 0, SWITCH) + gpu(2, 1, SWITCH)), PLATFORM]


@given(st.sampled_from(SAMPLES), st.data())
def test_a_randomly_changed_machine_file_is_read_or_refused(
    sample: str, data: st.DataObject
) -> None:
    """The test fails if the reader raises any exception other than a `StarcastError`."""
    begin = data.draw(st.integers(0, len(sample)))
    end = data.draw(st.integers(begin, min(len(sample), begin + 5)))
    middle = data.draw(st.text("09a <>\"'/=&;.:-\n", max_size=3))
    with TemporaryDirectory() as folder, suppress(StarcastError):
        path = Path(folder) / "x"
        path.write_text(sample[:begin] + middle + sample[end:])
        assert network(path, reporter=Silent()).endpoints


def test_files_with_many_nested_or_adjacent_devices_are_read(read: Any) -> None:
    """The 20,000 devices are nested in the first file and adjacent in the second file."""
    deep = "".join(f'<pci busid="0:{number:x}:0.0">' for number in range(20_000))
    text = system(deep + gpu(99, 0) + "</pci>" * 20_000 + gpu(98, 1))
    assert read(text).nodes == 20_003
    wide = "".join(f'<pci busid="0:{number:x}:0.0"/>' for number in range(20_000))
    assert read(system(wide + gpu(99, 0) + gpu(98, 1))).nodes == 3
