// title: Whether x copies reach every node
// question: With given dead nodes and links, does every node still receive every message that is
//     sent through x trees of a forest?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   copies (int >= 1): x, the number of trees that carry each message; no result if the forest has
//     fewer trees
//   dead_nodes (list of node, default []): labels of the dead nodes; with a dead root no node is
//     reached
//   dead_links (list of link, default []): the dead links, dead in both directions
//   messages (int >= 1, default 1): number of messages
// columns:
//   all_reached: whether every living node receives all messages that it receives without faults.
//     Copies are assigned to the trees in turn: copy c of message m uses tree (m x + c) mod trees,
//     c from 0, as in broadcast, allgather and alltoall along edge-disjoint trees
//   incomplete_nodes: number of nodes that miss a message
//   missing_messages: numbers, from 0, of the messages that some node misses, among the first
//     messages, as many as there are trees; after these the assignment of copies to trees repeats
//   all_choices_reach: whether every node would be reached whichever x trees carried a message
//   exposed_nodes: number of nodes that some choice of x trees does not reach
//   sufficient_copies: smallest number of copies that reach every node whichever trees carry them;
//     null if no tree reaches some node
// cost: every tree edge at and below the faults, and the edges of all forests at the ends of each,
//     and every tree edge into unreached nodes
// revision: 2
// reference: Fragopoulou & Akl 1996, section 4.3 (x copies survive x-1 faults)

// Every copy is counted separately. In a simulation, a node that lacks one copy forwards another
// copy that arrived in time, so a simulation never loses more than this query counts. Scatter and
// gather choose trees by the destination, not in turn: for them use all_choices_reach.
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
  // Dead nodes need not be reached.
  WITH DISTINCT tree, node
  WHERE NOT node.label IN $dead_nodes
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
