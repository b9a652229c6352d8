// title: Do x copies still reach everybody
// question: When given nodes and links are dead, does everybody still get every message that goes through x trees of a forest?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   copies (int >= 1): x, how many trees carry each message; there is no answer for more than there are trees
//   nodes (list of node, default []): labels of the dead nodes; a dead root leaves nobody
//   links (list of link, default []): the dead links, dead in both directions
//   messages (int >= 1, default 1): how many messages there are
// columns:
//   everybody: whether every living node still gets all messages that it got without the faults; they are dealt to the trees
//     like cards: copy c of message m goes to tree (m x + c) mod trees, c from 0, as broadcast,
//     allgather and alltoall along edge-disjoint trees do
//   lost: how many nodes miss a message
//   missing: numbers, from 0, of the messages that somebody misses, of the first ones, as many as there are trees: after them
//     the deal repeats
//   any_trees: whether everybody would be reached whichever x trees carried a message
//   exposed: how many nodes some choice of x trees leaves out
//   enough: the least number of copies that reach everybody whichever trees carry them; nothing where some node is left by all
// cost: every tree edge at and below the faults, and for each the edges of all forests at its ends,
//     and every tree edge into what is cut off
// revision: 1
// reference: Fragopoulou & Akl 1996, section 4.3 (x copies survive x-1 faults)

// Every copy counts for itself. In a simulation a node that lacks a copy passes on another one that it got in time, so there no
// more is lost than here. Scatter and gather choose trees by the node, not by this deal: for them see any_trees.
MATCH (f:Forest {id: $forest})
WHERE $copies <= f.trees
CALL (f) {
  CALL (f) {
    UNWIND $nodes AS dead
    MATCH (:Node {topology: f.topology, label: dead})-[broken:TREE_EDGE {forest: f.id}]->(below)
    RETURN broken.tree AS tree, below
    UNION
    UNWIND $links AS link
    MATCH (:Node {topology: f.topology, label: split(link, '-')[0]})-[broken:TREE_EDGE {forest: f.id}]-(other)
    WHERE other.label = split(link, '-')[1]
    RETURN broken.tree AS tree, endNode(broken) AS below
  }
  MATCH (below)(()-[e:TREE_EDGE WHERE e.tree = tree AND e.forest = $forest]->())*(node)
  // The dead are not owed anything.
  WITH DISTINCT tree, node
  WHERE NOT node.label IN $nodes
  WITH f, node, collect(tree) AS cut
  WITH f, node, cut, COLLECT {
    MATCH (node)<-[e:TREE_EDGE {forest: $forest}]-() WHERE NOT e.tree IN cut RETURN e.tree
  } AS through
  WITH f, node, size(through) AS reached, [m IN range(0, CASE WHEN $messages < f.trees THEN $messages ELSE f.trees END - 1)
    WHERE any(c IN range(0, $copies - 1) WHERE (m * $copies + c) % f.trees IN cut)
      AND none(c IN range(0, $copies - 1) WHERE (m * $copies + c) % f.trees IN through)] AS missing
  RETURN count(CASE WHEN size(missing) > 0 THEN node END) AS lost,
    count(CASE WHEN reached + $copies <= f.trees THEN node END) AS exposed,
    min(reached) AS least, collect(DISTINCT missing) AS missed
}
RETURN lost = 0 AS everybody, lost, [m IN range(0, f.trees - 1) WHERE any(missing IN missed WHERE m IN missing)] AS missing,
  exposed = 0 AS any_trees, exposed, CASE WHEN least = 0 THEN null ELSE f.trees + 1 - coalesce(least, f.trees) END AS enough
