// title: Nodes that no tree reaches
// question: With given dead nodes and links, which nodes does no tree of a forest reach any more?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   dead_nodes (list of node, default []): labels of the dead nodes; if the root is dead, the trees
//     reach no node
//   dead_links (list of link, default []): the dead links, which transmit data in neither direction
// columns:
//   node (node): a living node that is cut off in every tree that contains it
//   trees: number of trees that contain the node
// cost: reads every tree edge at or below a fault and, for each of these edges, the edges of all
//     forests at the two ends of the edge. It also reads the tree edges that enter a node that is
//     cut off in some tree
// revision: 2
// reference: Fragopoulou & Akl 1996, section 4.3 (with n-1 edge-disjoint trees, every living node
//     is still reached if at most n-2 nodes or links other than the root are dead)

MATCH (f:Forest {id: $forest})
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
WITH node, count(tree) AS cut
WITH node, cut, COUNT { (node)<-[:TREE_EDGE {forest: $forest}]-() } AS trees
WHERE cut = trees
RETURN node.label AS node, trees
ORDER BY node
