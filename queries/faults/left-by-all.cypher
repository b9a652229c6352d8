// title: Nodes left by every tree
// question: Which nodes does no tree of a forest reach any more when given nodes and links are dead?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   nodes (list of node, default []): labels of the dead nodes; a dead root leaves nobody
//   links (list of link, default []): the dead links, dead in both directions
// columns:
//   node (node): a living node that is cut off in every tree it is in
//   trees: in how many trees it is
// cost: every tree edge at and below the faults, and for each the edges of all forests at its ends,
//     and every tree edge into what is cut off
// revision: 1
// reference: Fragopoulou & Akl 1996, section 4.3 (n-1 edge-disjoint trees: no n-2 faults but the root leave a node to none)

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
WITH node, count(tree) AS cut
WITH node, cut, COUNT { (node)<-[:TREE_EDGE {forest: $forest}]-() } AS trees
WHERE cut = trees
RETURN node.label AS node, trees
ORDER BY node
