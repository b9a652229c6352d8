// title: Messages that are sent along several trees
// question: With given dead nodes and links, does every node still receive every message that is
//     sent along x trees of a forest?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   copies (int >= 1): x, the number of trees that carry each message; if the forest has fewer
//     trees, the result has no row
//   dead_nodes (list of node, default []): labels of the dead nodes; if the root is dead, the trees
//     reach no node
//   dead_links (list of link, default []): the dead links, which transmit data in neither direction
//   messages (int >= 1, default 1): number of messages
// columns:
//   all_reached: whether every living node receives all messages that it receives without faults.
//     No column counts switches, because switches are not destinations of messages. The copies of
//     messages are assigned to the trees in turn: copy c of message m, both counted from 0, uses
//     tree number (m x + c) modulo the number of trees. The algorithm edge-disjoint for broadcast,
//     allgather and alltoall assigns copies in the same way
//   incomplete_nodes: number of nodes that miss a message
//   missing_messages: numbers, from 0, of the messages that some node misses. If the forest has t
//     trees, only the first t messages are examined, because the assignment of copies to trees then
//     repeats
//   all_choices_reach: whether all nodes would receive a message whichever x trees carry it
//   exposed_nodes: number of nodes that at least one choice of x trees does not reach
//   sufficient_copies: smallest number of copies with which every node receives each message,
//     whichever trees carry the copies; null if some node is reached by no tree
// cost: reads every tree edge at or below a fault and, for each of these edges, the edges of all
//     forests at the two ends of the edge. It also reads the tree edges that enter a node that is
//     cut off in some tree
// revision: 3
// reference: Fragopoulou & Akl 1996, section 4.3 (messages sent in x copies survive x-1 faults)

// Each copy is followed separately along its own tree. In a simulation, a node that lacks one copy
// forwards another copy that arrived in time, so a simulation never loses more than this query
// counts. Scatter and gather choose trees by the destination, not in turn; for them, use the column
// all_choices_reach.
MATCH (f:Forest {id: $forest})
WHERE $copies <= f.trees
CALL (f) {
  CALL (f) {
    UNWIND $dead_nodes AS dead
    MATCH (:Node {topology: f.topology, label: dead})-[broken:TREE_EDGE {forest: f.id}]->(below)
    RETURN broken.tree AS tree, below
    UNION
    UNWIND $dead_links AS link
    MATCH (:Node {topology: f.topology, label: split(link,
      '-')[0]})-[broken:TREE_EDGE {forest: f.id}]-(other)
    WHERE other.label = split(link, '-')[1]
    RETURN broken.tree AS tree, endNode(broken) AS below
  }
  MATCH (below)(()-[e:TREE_EDGE WHERE e.tree = tree AND e.forest = $forest]->())*(node)
  // Dead nodes and switches need not be reached.
  WITH DISTINCT tree, node
  WHERE NOT node.label IN $dead_nodes AND node.is_switch IS NULL
  WITH f, node, collect(tree) AS cut
  WITH f, node, cut, COLLECT {
    MATCH (node)<-[e:TREE_EDGE {forest: $forest}]-() WHERE NOT e.tree IN cut RETURN e.tree
  } AS through
  WITH f, node, size(through) AS reached, [m IN range(0, CASE WHEN $messages < f.trees
    THEN $messages ELSE f.trees END - 1)
    WHERE any(c IN range(0, $copies - 1) WHERE (m * $copies + c) % f.trees IN cut)
      AND none(c IN range(0, $copies - 1) WHERE (m * $copies + c) % f.trees IN through)] AS missing
  RETURN count(CASE WHEN size(missing) > 0 THEN node END) AS lost,
    count(CASE WHEN reached + $copies <= f.trees THEN node END) AS exposed,
    min(reached) AS least, collect(DISTINCT missing) AS missed
}
RETURN lost = 0 AS all_reached, lost AS incomplete_nodes, [m IN range(0, f.trees - 1)
  WHERE any(missing IN missed WHERE m IN missing)] AS missing_messages,
  exposed = 0 AS all_choices_reach, exposed AS exposed_nodes, CASE WHEN least = 0 THEN null
    ELSE f.trees + 1 - coalesce(least, f.trees) END AS sufficient_copies
