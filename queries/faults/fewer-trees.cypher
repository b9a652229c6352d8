// title: Nodes that fewer trees reach
// question: Which trees of a forest still reach the nodes that given dead nodes and links cut off in some of them?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   nodes (list of node, default []): labels of the dead nodes; a dead root leaves nobody
//   links (list of link, default []): the dead links, dead in both directions
//   needed (int >= 1, default 1): list nodes that fewer trees reach; 1 for those that none does
// columns:
//   node (node): a living node that is cut off in some tree
//   reached: how many trees still reach it
//   through: their numbers
//   cut: the trees in which it is cut off
// cost: every tree edge at and below the faults, and for each the edges of all forests at its ends,
//     and every tree edge into what is cut off
// revision: 1
// reference: Fragopoulou & Akl 1996, section 4.3

MATCH (f:Forest {id: $forest})
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
WITH node, tree
ORDER BY tree
WITH node, collect(tree) AS cut
WITH node, cut, COLLECT {
  MATCH (node)<-[e:TREE_EDGE {forest: $forest}]-() WHERE NOT e.tree IN cut RETURN e.tree AS tree ORDER BY tree
} AS through
WHERE size(through) < $needed
RETURN node.label AS node, size(through) AS reached, through, cut
ORDER BY reached, node
