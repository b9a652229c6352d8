"""What the options of a point are for: `run once` takes one value of each, `experiment run` lists."""

MESSAGE_HELP = "Bytes of the message: 1024, 2.5, 23/3."
SEGMENTS_HELP = (
    "Pieces that a tree's share of the message is cut into: a number, best or degree (n-1 on S_n). Best is the number with"
    " the least time by the algorithm's closed form; where that is not exact, the execution may be faster with another."
)
MESSAGES_HELP = "Unit messages that the message is cut into, of an algorithm of messages; likewise."
COPIES_HELP = "Edge-disjoint trees that carry each unit: a number or degree."
TREE_HELP = "Construction of the tree, for an algorithm that takes one."
PORTS_HELP = "Port model: all or one."
FAULTS_HELP = (
    "What is down: '21345 12345-21345@3' (from step 3 on), or drawn by lot: '2 nodes', '1 link'."
)
SEED_HELP = "Seed of the lot."
START_UP_HELP = "T_s, time to start a packet up."
BYTE_HELP = "T_c, time a byte."
