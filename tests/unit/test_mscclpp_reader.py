"""Reading MSCCL++ plans: valid plans, randomly changed plans, and errors with locations."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from oracles import mscclpp as oracle
from starcast import Schedule, StarcastError, network, schedule_from_mscclpp, simulate
from starcast.support.errors import InputError
from support.meeting import refused

NODES = 4
EVERYONE = range(NODES)
BUFFERS = "ios"
Operation = dict[str, Any]
Plan = dict[str, Any]


def peers(rank: int) -> list[int]:
    return [peer for peer in EVERYONE if peer != rank]


def at(buffer: str, index: int, size: int = 1) -> dict[str, Any]:
    """Return a reference to chunks in a buffer of the GPU that executes the operation."""
    return {"type": buffer, "index": index, "size": size}


def on(rank: int, peer: int, buffer: str, index: int, size: int = 1) -> dict[str, Any]:
    """Return a reference from a thread block of `rank` to chunks in a buffer of the GPU `peer`."""
    number = 3 * peers(rank).index(peer) + BUFFERS.index(buffer)
    return {"buffer_id": number, "index": index, "size": size}


def op(name: str, sources: Any = (), targets: Any = (), **more: Any) -> Operation:
    made = {"name": name, "channel_type": "memory", **more}
    for key, places in (("src_buff", sources), ("dst_buff", targets)):
        if places:
            made[key] = list(places)
    return made


def everyone(name: str) -> Operation:
    """Return an operation on all channels of a thread block, which lead to the other GPUs."""
    return op(name, channel_ids=list(range(NODES - 1)))


def channel(name: str, rank: int, peer: int) -> Operation:
    return op(name, channel_ids=[peers(rank).index(peer)])


def plan(
    collective: str,
    chunks: tuple[int, int, int],
    blocks: Callable[[int], list[list[Operation]]],
    in_place: bool = False,
    semaphores: int = 0,
) -> Plan:
    """Return a plan; thread block b of a GPU is connected to thread block b of each other GPU."""
    gpus = []
    for rank in EVERYONE:
        programs = blocks(rank)
        others = peers(rank)
        gpus.append(
            {
                "id": rank,
                "input_chunks": chunks[0],
                "output_chunks": chunks[1],
                "scratch_chunks": chunks[2],
                "threadblocks": [
                    {
                        "id": number,
                        "ops": program,
                        "channels": [
                            {
                                "channel_type": "memory",
                                "channel_ids": [
                                    number * len(others) + each for each in range(len(others))
                                ],
                            }
                        ],
                        "remote_buffer_refs": [
                            {
                                "access_channel_type": "memory",
                                "remote_buffer_ids": list(range(3 * len(others))),
                            }
                        ],
                    }
                    for number, program in enumerate(programs)
                ],
                "channels": [{"channel_type": "memory", "connected_to": others} for _ in programs],
                "remote_buffers": [
                    {"rank": peer, "type": buffer, "access_channel_types": ["memory"]}
                    for peer in others
                    for buffer in BUFFERS
                ],
                "semaphores": [{"init_value": 0}] * semaphores,
            }
        )
    return {"name": "x", "collective": collective, "inplace": in_place, "gpus": gpus}


def direct_allgather() -> Plan:
    def blocks(rank: int) -> list[list[Operation]]:
        targets = [on(rank, peer, "o", rank) for peer in peers(rank)]
        put = op("put", [at("i", 0)] * len(targets), targets)
        return [
            [op("copy", [at("i", 0)], [at("o", rank)]), put, everyone("signal"), everyone("wait")]
        ]

    return plan("allgather", (1, 4, 0), blocks)


def ring_allgather() -> Plan:
    """Return an in-place allgather in which each GPU fetches chunks from its left neighbour."""

    def blocks(rank: int) -> list[list[Operation]]:
        left, right = (rank - 1) % NODES, (rank + 1) % NODES
        steps = []
        for number in range(1, NODES):
            chunk = (rank - number) % NODES
            steps += [channel("signal", rank, right), channel("wait", rank, left)]
            steps += [op("get", [on(rank, left, "o", chunk)], [at("o", chunk)]), op("nop")]
        return [steps]

    return plan("allgather", (1, 4, 0), blocks, in_place=True)


def two_step_allreduce() -> Plan:
    """Return an allreduce: each GPU adds the parts in its scratch buffer, and sends the sum."""

    def blocks(rank: int) -> list[list[Operation]]:
        others = peers(rank)
        parts = [at("i", peer) for peer in others]
        puts = op("put", parts, [on(rank, peer, "s", rank) for peer in others])
        add = op("re", [at("i", rank), *(at("s", peer) for peer in others)], [at("o", rank)])
        back = [on(rank, peer, "o", rank) for peer in others]
        sync = [everyone("signal"), everyone("wait")]
        returns = op("put", [at("o", rank)] * len(back), back)
        return [[puts, *sync, add, op("nop"), returns, *sync]]

    return plan("allreduce", (4, 4, 4), blocks)


def packet_allreduce() -> Plan:
    """Return an in-place allreduce in two steps with packets, which need no signals."""

    def blocks(rank: int) -> list[list[Operation]]:
        others = peers(rank)
        parts = [at("i", peer) for peer in others]
        puts = op("ppkt", parts, [on(rank, peer, "s", rank) for peer in others])
        add = op(
            "respkt",
            [at("i", rank), *(at("s", peer) for peer in others)],
            [at("i", rank), *(on(rank, peer, "s", NODES + rank) for peer in others)],
        )
        unpack = [op("upkt", [at("s", NODES + peer)], [at("i", peer)]) for peer in others]
        return [[puts], [add], unpack]

    return plan("allreduce", (4, 4, 8), blocks, in_place=True)


def read_reduce_scatter() -> Plan:
    """Return a reduce-scatter in which each GPU reads the inputs of all other GPUs."""

    def blocks(rank: int) -> list[list[Operation]]:
        sources = [at("i", rank), *(on(rank, peer, "i", rank) for peer in peers(rank))]
        start = [everyone("rlxsignal"), everyone("rlxwait")]
        return [[*start, op("rre", sources, [at("o", 0)]), everyone("signal"), everyone("wait")]]

    return plan("reducescatter", (4, 1, 0), blocks)


def grouped_alltoall() -> Plan:
    """Return an alltoall: three thread blocks share a chunk, a fourth copies the scratch buffer."""

    def blocks(rank: int) -> list[list[Operation]]:
        movers = []
        for number in range(3):
            group = {"tb_id": number, "tbg_size": 3}
            own = op("copy", [at("i", rank)], [at("o", rank)], tbg_info=group)
            others = peers(rank)
            parts = [at("i", peer) for peer in others]
            puts = op("put", parts, [on(rank, peer, "s", rank) for peer in others], tbg_info=group)
            sync = [everyone("signal"), everyone("wait")]
            done = op("sem_release", semaphore_ids=[number])
            barrier = op("barrier", barrier_id=0, num_threadblocks=3)
            movers.append([own, puts, *sync, barrier, done])
        acquire = op("sem_acquire", semaphore_ids=[0, 1, 2])
        copies = [op("copy", [at("s", peer)], [at("o", peer)]) for peer in peers(rank)]
        return [*movers, [acquire, *copies]]

    return plan("alltoall", (4, 4, 4), blocks, semaphores=3)


#: Each plan with its collective, its number of steps, and its number of rows.
PLANS: dict[str, tuple[Callable[[], Plan], Any, int, int]] = {
    "direct": (direct_allgather, "allgather", 1, 12),
    "ring": (ring_allgather, "allgather", 3, 12),
    "two steps": (two_step_allreduce, "allreduce", 2, 24),
    "packets": (packet_allreduce, "allreduce", 2, 24),
    "read": (read_reduce_scatter, "reduce-scatter", 1, 12),
    "group": (grouped_alltoall, "alltoall", 1, 36),
}


def read(made: Plan, folder: Path, collective: Any, spec: str = "K4") -> Schedule:
    file = folder / "plan.json"
    file.write_text(json.dumps(made))
    return schedule_from_mscclpp(file, spec, collective)


@pytest.mark.parametrize("name", PLANS)
def test_a_valid_mscclpp_plan_is_complete_and_takes_the_expected_number_of_steps(
    tmp_path: Path, name: str
) -> None:
    make, collective, steps, rows = PLANS[name]
    built = read(make(), tmp_path, collective)
    result = simulate(built)
    assert (result.complete, result.steps, len(built)) == (True, steps, rows)


@pytest.mark.parametrize(
    ("make", "collective", "steps", "packet"),
    [
        # A direct allgather sends three copies of a unit to the switch, although one is enough.
        (direct_allgather, "allgather", 2, 3),
        (ring_allgather, "allgather", 6, 1),
        (grouped_alltoall, "alltoall", 2, 9),
    ],
)
def test_transfers_of_an_mscclpp_plan_over_a_switch_take_two_steps(
    tmp_path: Path, make: Any, collective: Any, steps: int, packet: int
) -> None:
    links = [(str(rank), "switch") for rank in EVERYONE]
    spec = network(links, name="star", switches=["switch"]).spec
    result = simulate(read(make(), tmp_path, collective, spec))
    assert (result.complete, result.steps, result.largest_packet) == (True, steps, packet)
    with pytest.raises(InputError, match="over a switch of star-"):
        read(two_step_allreduce(), tmp_path, "allreduce", spec)


@pytest.mark.parametrize("collective", ["scatter", "broadcast"])
def test_a_unit_can_be_sent_over_switches_to_at_most_256_receivers(
    tmp_path: Path, collective: str
) -> None:
    nodes = 260
    links = [("s0", "s1"), *((f"s{rank % 2}", str(rank)) for rank in range(nodes))]
    spec = network(links, name="wide", switches=["s0", "s1"]).spec
    is_scatter = collective == "scatter"
    remote = [{"buffer_id": rank - 1, "index": 0, "size": 1} for rank in range(1, nodes)]
    own = op("copy", [at("i", 0)], [at("o", 0)])
    put = op("put", [at("i", rank * is_scatter) for rank in range(1, nodes)], remote)
    refs = [{"access_channel_type": "memory", "remote_buffer_ids": list(range(nodes - 1))}]
    gpus: list[dict[str, Any]] = [
        {"id": rank, "input_chunks": 0, "output_chunks": 1, "scratch_chunks": 0, "threadblocks": []}
        for rank in range(nodes)
    ]
    gpus[0] |= {
        "input_chunks": nodes if is_scatter else 1,
        "threadblocks": [{"ops": [own, put], "remote_buffer_refs": refs}],
        "remote_buffers": [{"rank": rank, "type": "o"} for rank in range(1, nodes)],
    }
    made = {"collective": collective, "inplace": False, "gpus": gpus}
    if is_scatter:
        assert simulate(read(made, tmp_path, collective, spec)).complete
    else:
        with refused(
            "sends unit 0 to rank 257, but a unit can be sent through switches to at most 256",
            exit_code=7,
        ):
            read(made, tmp_path, collective, spec)


def test_a_get_operation_becomes_a_row_whose_sender_is_the_other_gpu(tmp_path: Path) -> None:
    built = read(ring_allgather(), tmp_path, "allgather")
    rows = zip(built.step, built.sender, built.receiver, built.unit, strict=True)
    assert {tuple(map(int, row)) for row in rows} == {
        (step, rank, (rank + 1) % 4, (rank - step + 1) % 4)
        for rank in EVERYONE
        for step in range(1, 4)
    }


def expected(name: str) -> dict[Any, int]:
    """Return the numbers that a plan must leave in the output buffers, by rank and index."""
    make, collective, _, _ = PLANS[name]
    made = make()
    size = made["gpus"][0]["output_chunks"] * oracle.PARTS
    found = {}
    for rank in EVERYONE:
        for index in range(size):
            match collective:
                case "allgather":
                    source, place = divmod(index, oracle.PARTS)
                    value = oracle.contribution(source, place)
                case "alltoall":
                    source, place = divmod(index, oracle.PARTS)
                    value = oracle.contribution(source, rank * oracle.PARTS + place)
                case "allreduce":
                    value = sum(oracle.contribution(each, index) for each in EVERYONE)
                case _:
                    place = rank * oracle.PARTS + index
                    value = sum(oracle.contribution(each, place) for each in EVERYONE)
            found[rank, index] = value
    return found


def executes(made: Plan, name: str, random: Random) -> bool:
    """Return whether the interpreter leaves the expected numbers in all outputs of a plan."""
    size = made["gpus"][0]["input_chunks"] * oracle.PARTS
    try:
        memory = oracle.execute(copy.deepcopy(made), [range(size)] * NODES, random)
    except ValueError:
        return False
    outputs = "io" if made["inplace"] else "o"
    return all(
        memory.get((rank, outputs, index)) == value
        for (rank, index), value in expected(name).items()
    )


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_interpreter_of_the_tests_executes_valid_plans_correctly(name: str) -> None:
    """The interpreter executes the operations of different thread blocks in a random order."""
    for seed in range(10):
        assert executes(PLANS[name][0](), name, Random(seed))  # noqa: S311 - repeatable


def mutate(made: Plan, random: Random) -> None:
    """Remove, move or change a random operation of a plan."""
    block = random.choice(random.choice(made["gpus"])["threadblocks"])
    operations = block["ops"]
    number = random.randrange(len(operations))
    changed = operations[number] = copy.deepcopy(operations[number])
    places = [*changed.get("src_buff", ()), *changed.get("dst_buff", ())]
    match random.randrange(5):
        case 0:
            del operations[number]
        case 1 if places:
            place = random.choice(places)
            place["index"] += random.choice((-1, 1))
        case 2 if changed.get("channel_ids"):
            changed["channel_ids"].pop(random.randrange(len(changed["channel_ids"])))
        case 3:
            operations.insert(random.randrange(len(operations)), operations.pop(number))
        case _ if changed.get("src_buff"):
            changed["src_buff"].pop()


@pytest.mark.parametrize("name", PLANS)
def test_an_accepted_plan_with_a_random_change_is_executed_correctly(
    tmp_path: Path, name: str
) -> None:
    """A plan interpreter that shares no code with the reader executes the plan in random orders."""
    make, collective, _, _ = PLANS[name]
    random = Random(name)  # noqa: S311 - repeatable
    errors = []
    for _ in range(40):
        made = make()
        mutate(made, random)
        try:
            assert simulate(read(made, tmp_path, collective)).complete
        except StarcastError as error:
            errors.append(error)
            continue
        assert all(executes(made, name, random) for _ in range(5))
    assert len(errors) > 10
    assert all(str(tmp_path / "plan.json") in error.message and error.hint for error in errors)


def change(made: Plan, rank: int, block: int, number: int, **values: Any) -> Plan:
    changed = copy.deepcopy(made)
    changed["gpus"][rank]["threadblocks"][block]["ops"][number].update(values)
    return changed


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "operation", "message"),
    [
        ("ring", 1, "thread block 0, step 5 reads o[2] of rank 3 without waiting for rank 3"),
        ("two steps", 2, "rank 0, thread block 0, step 2 reads s[1] of rank 0"),
        ("two steps", 5, "rank 1 ends with nothing in o[0] instead of unit 0"),
        ("read", 3, "waits forever for a signal of rank 0 to rank 3 on memory channel 0"),
    ],
)
def test_an_mscclpp_plan_that_lacks_an_operation_is_refused(
    tmp_path: Path, name: str, operation: int, message: str
) -> None:
    make, collective, _, _ = PLANS[name]
    made = make()
    del made["gpus"][0]["threadblocks"][0]["ops"][operation]
    with refused(message, "plan.json", exit_code=6):
        read(made, tmp_path, collective)


def test_a_relaxed_signal_in_an_mscclpp_plan_does_not_order_memory_accesses(tmp_path: Path) -> None:
    made = two_step_allreduce()
    made["gpus"][1]["threadblocks"][0]["ops"][1]["name"] = "rlxsignal"
    with refused("reads s[1] of rank 3 without waiting for rank 1, thread block 0", exit_code=6):
        read(made, tmp_path, "allreduce")


def test_an_mscclpp_plan_that_writes_a_packet_twice_is_refused(tmp_path: Path) -> None:
    """The receiving GPU could read the first or the second packet."""
    made = packet_allreduce()
    operations = made["gpus"][0]["threadblocks"][0]["ops"]
    operations.append(copy.deepcopy(operations[0]))
    with refused("rank 0, thread block 0, step 1 writes packet s[0] of rank 1 a", exit_code=6):
        read(made, tmp_path, "allreduce")


def test_the_error_for_a_plan_that_cannot_finish_names_a_thread_block_that_waits_forever(
    tmp_path: Path,
) -> None:
    made = grouped_alltoall()
    made["gpus"][2]["threadblocks"][0]["ops"][4]["num_threadblocks"] = 4
    with refused("rank 2, thread block", "waits forever for", exit_code=6):
        read(made, tmp_path, "alltoall")
    made = direct_allgather()
    for gpu in made["gpus"]:
        operations = gpu["threadblocks"][0]["ops"]
        operations[2:] = operations[:1:-1]
    with refused("rank 0, thread block 0, step 2 waits forever for a signal", exit_code=6):
        read(made, tmp_path, "allgather")


def test_acquiring_a_semaphore_once_does_not_wait_for_both_blocks_that_release_it(
    tmp_path: Path,
) -> None:
    """The first release can come from either thread block, so the other may not be finished."""
    release, acquire = (op(f"sem_{name}", semaphore_ids=[0]) for name in ("release", "acquire"))

    def shared(order: str) -> Plan:
        puts = [
            op("put", [at("s", k)] * 3, [on(0, peer, "o", k) for peer in peers(0)])
            for k in range(2)
        ]
        last = [op("copy", [at("i", 0, 2)], [at("o", 0, 2)])]
        last += [{"a": acquire, "0": puts[0], "1": puts[1]}[each] for each in order]
        copies = [[op("copy", [at("i", k)], [at("s", k)]), release] for k in range(2)]
        none: list[list[Operation]] = [[], [], []]
        return plan(
            "broadcast", (2, 2, 2), lambda rank: none if rank else [*copies, last], semaphores=1
        )

    assert simulate(read(shared("aa01"), tmp_path, "broadcast")).complete
    for order, chunk in (("a0a1", 0), ("a1a0", 1)):
        with refused(f"rank 0, thread block 2, step 2 reads s[{chunk}] of rank 0", exit_code=6):
            read(shared(order), tmp_path, "broadcast")
    made = shared("aa01")
    made["gpus"][0]["semaphores"][0]["init_value"] = 1
    with refused("rank 0, thread block 2, step 3 reads s[0] of rank 0", exit_code=6):
        read(made, tmp_path, "broadcast")


@pytest.mark.parametrize(
    ("sources", "targets", "is_valid"),
    [
        ([at("s", 0), at("s", 1)], [at("s", 2), at("s", 3)], True),
        ([at("s", 0), at("s", 1)], [at("s", 0), at("s", 1)], True),
        ([at("s", 0), at("s", 1)], [at("s", 1), at("s", 2)], False),
        ([at("s", 0, 2)], [at("s", 1, 2)], False),
    ],
)
def test_an_operation_that_reads_and_writes_overlapping_chunks_is_refused(
    tmp_path: Path, sources: Any, targets: Any, is_valid: bool
) -> None:
    made = ring_allgather()
    for gpu in made["gpus"]:
        gpu["scratch_chunks"] = 4
        first = [op("copy", [at("i", 0)] * 2, [at("s", 0), at("s", 1)]), op("nop")]
        gpu["threadblocks"][0]["ops"][:0] = [*first, op("copy", sources, targets)]
    if is_valid:
        assert simulate(read(made, tmp_path, "allgather")).complete
    else:
        with refused("step 2 writes s[1] of rank 0, which it also reads", exit_code=6):
            read(made, tmp_path, "allgather")


def test_a_barrier_used_by_more_thread_blocks_than_it_waits_for_is_refused(tmp_path: Path) -> None:
    made = grouped_alltoall()
    for block in made["gpus"][1]["threadblocks"][:3]:
        block["ops"][4]["num_threadblocks"] = 2
    message = "rank 1, thread block 2, step 4 waits at barrier 0 for 2 thread blocks, but 3 use it"
    with refused(message, exit_code=6):
        read(made, tmp_path, "alltoall")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "glres"}, "step 1 has the operation 'glres', which a switch executes"),
        ({"name": "pipeline"}, "has the operation 'pipeline', which repeats operations for parts"),
        (
            {"name": "teleport"},
            "rank 0, thread block 0, step 1 has the operation 'teleport', which",
        ),
        ({"name": "re"}, "has the operation 're', but allgather does not add data"),
        ({"dst_buff": []}, "operation 'put' whose sources and targets do not match"),
        ({"src_buff": [at("i", 0)] * 2}, "operation 'put' whose sources and targets do not"),
        (
            {"dst_buff": [on(0, 1, "o", 0, 2)] * 3},
            "operation 'put' whose sources and targets do not",
        ),
        ({"src_buff": [at("i", 7)] * 3}, "step 1 uses i[7] of rank 0, which does not exist"),
        ({"src_buff": [at("i", -1)] * 3}, "ops.1.src_buff.0.index: Input should be greater"),
        ({"src_buff": [at("x", 0)] * 3}, "ops.1.src_buff.0.type: Input should be 'i', 'o' or 's'"),
        ({"src_buff": [{"index": 0, "size": 1}] * 3}, "step 1 uses None[0] of rank 0, which"),
        ({"src_buff": [at("i", 0, 10**9)] * 3}, "ops.1.src_buff.0.size: Input should be less"),
        ({"tbg_info": {"tb_id": 2, "tbg_size": 2}}, "step 1 uses i[0] of rank 0, which does not"),
        ({"channel_type": "port"}, "step 1 uses index 1 in a list of 0 channels or remote buffers"),
        ({"name": "ppkt"}, "step 1 has packets in o[0] of rank 1"),
        ({"name": "signal", "channel_ids": [9]}, "step 1 uses index 9 in a list of 3 channels"),
    ],
)
def test_the_error_for_an_invalid_operation_in_an_mscclpp_plan_states_the_problem(
    tmp_path: Path, values: Any, message: str
) -> None:
    with refused(message, "plan.json"):
        read(change(direct_allgather(), 0, 0, 1, **values), tmp_path, "allgather")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"allgather"', '"sendrecv"', "the file is for the collective 'sendrecv', not allgather"),
        ('"allgather"', f'"{"x" * 999}"', "collective: String should have at most 40 characters"),
        ('"allgather"', '"custom"', "the file is for the collective 'custom', not allgather"),
        ('"id": 1', '"id": 3', "the plan lists GPU 3 instead of GPU 1"),
        ('"input_chunks": 1', '"input_chunks": 40000', "gpus.0.input_chunks: Input should be less"),
        ('"output_chunks": 4', '"output_chunks": 5', "buffers of 5 chunks cannot be divided"),
        (
            '"rank": 1, "type": "o"',
            '"rank": 77, "type": "o"',
            "step 1 uses o[0] of rank 77, which does not exist",
        ),
        (
            '"inplace": false',
            '"inplace": 7',
            "the file is not an MSCCL++ plan: inplace: Input should be",
        ),
        ('"gpus"', '"gpu"', "the file is not an MSCCL++ plan: gpus: Field required"),
        ("}", "", "the file is not an MSCCL++ plan: Expecting"),
        ('"index": 0', '"index": NaN', "NaN is not a valid JSON number"),
        ('"memory"', '"\\ud800"', "the file is not an MSCCL++ plan: "),
    ],
)
def test_the_error_for_a_damaged_mscclpp_plan_states_the_problem(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = json.dumps(direct_allgather())
    assert old in text
    file = tmp_path / "plan.json"
    file.write_text(text.replace(old, new, 1))
    with refused(message, str(file)):
        schedule_from_mscclpp(file, "K4", "allgather")


def test_plans_for_another_network_old_plans_and_unreadable_plans_are_refused(
    tmp_path: Path,
) -> None:
    with refused("the file has 4 GPUs, but K5 has 5 nodes"):
        read(direct_allgather(), tmp_path, "allgather", "K5")
    with refused("sends to rank 3, but the ranks are not linked in Q2"):
        read(direct_allgather(), tmp_path, "allgather", "Q2")
    assert simulate(read(ring_allgather(), tmp_path, "allgather", "Ring4")).complete
    made = ring_allgather()
    made["gpus"][2]["threadblocks"][0]["ops"][2]["src_buff"] = [on(2, 0, "o", 0)]
    with refused("sends from rank 0, but the ranks are not linked in Ring4"):
        read(made, tmp_path, "allgather", "Ring4")
    file = tmp_path / "plan.json"
    # Plans of an older version contain such operations, which name no buffers.
    block = {"id": 0, "ops": [{"name": "put", "buff_size": 1}]}
    gpu = {"input_chunks": 1, "output_chunks": 2, "scratch_chunks": 0, "threadblocks": [block]}
    made = {"collective": "allgather", "inplace": True, "gpus": [{"id": 0} | gpu, {"id": 1} | gpu]}
    file.write_text(json.dumps(made))
    with refused("has the operation 'put' whose sources and targets do not match"):
        schedule_from_mscclpp(file, "K2", "allgather")
    file.write_text("[" * 100_000)
    with refused("the text is nested too deeply"):
        schedule_from_mscclpp(file, "K2", "allgather")
    with refused("missing.json: the plan cannot be read"):
        schedule_from_mscclpp(tmp_path / "missing.json", "K2", "allgather")


def test_an_mscclpp_plan_that_moves_too_many_units_is_refused_before_it_is_executed(
    tmp_path: Path,
) -> None:
    made = direct_allgather()
    for number, size in enumerate((61, 59, 53, 47)):
        group = {"tb_id": 0, "tbg_size": size}
        made["gpus"][number]["threadblocks"][0]["ops"][0]["tbg_info"] = group
    with refused("or moves more than 4,000,000 units", exit_code=7):
        read(made, tmp_path, "allgather")


def test_a_short_mscclpp_plan_that_needs_much_memory_is_refused(tmp_path: Path) -> None:
    operations = [op("nop", tbg_info={"tb_id": 0, "tbg_size": size}) for size in (64, 63, 61, 59)]
    made = plan("broadcast", (1, 1, 0), lambda _: [operations], in_place=True)
    with refused("or holds or moves more than 4,000,000 units", exit_code=7):
        read(made, tmp_path, "broadcast")
