// title: Nodes cut off in each tree
// question: With given dead nodes and links, which nodes does each tree of a forest no longer
//     reach?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   dead_nodes (list of node, default []): labels of the dead nodes; if the root is dead, the trees
//     reach no node
//   dead_links (list of link, default []): the dead links, which transmit data in neither direction
// columns:
//   tree: number of the tree in the forest
//   level: the node's distance from the root in that tree
//   parent (node): the node's parent in that tree
//   node (node): a living node of that tree that the root no longer reaches; dead nodes are not
//     listed
// cost: reads every tree edge at or below a fault and, for each of these edges, the edges of all
//     forests at the two ends of the edge
// revision: 2
// reference: Fragopoulou & Akl 1996, section 4.3; docs/definitions/edge-disjoint-trees.md, pitfall
//     5 (a link fault kills both directions)

MATCH (f:Forest {id: $forest})
CALL (f) {
  UNWIND $dead_nodes AS dead
  MATCH (:Node {topology: f.topology, label: dead})-[broken:TREE_EDGE {forest: f.id}]->(below)
  RETURN broken, broken.tree AS tree, below
  UNION
  UNWIND $dead_links AS link
  MATCH (:Node {topology: f.topology, label: split(link,
    '-')[0]})-[broken:TREE_EDGE {forest: f.id}]-(other)
  WHERE other.label = split(link, '-')[1]
  RETURN broken, broken.tree AS tree, endNode(broken) AS below
}
// All nodes below a fault are cut off. A node below several faults is matched several times.
MATCH (below)(()-[e:TREE_EDGE WHERE e.tree = tree AND e.forest = $forest]->())*(node)
WHERE NOT node.label IN $dead_nodes
WITH DISTINCT coalesce(last(e), broken) AS edge, node
RETURN edge.tree AS tree, edge.level AS level, startNode(edge).label AS parent, node.label AS node
ORDER BY tree, level, node
