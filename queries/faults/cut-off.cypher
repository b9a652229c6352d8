// title: Who is cut off
// question: Which nodes does each tree of a forest no longer reach when given nodes and links are dead?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   nodes (list of node, default []): labels of the dead nodes; a dead root leaves nobody
//   links (list of link, default []): the dead links, dead in both directions
// columns:
//   tree: number of the tree in the forest
//   level: the node's distance from the root in that tree
//   parent (node): its parent in that tree
//   node (node): a living node that is in that tree and that nothing from the root comes to; the dead ones are not listed
// cost: every tree edge at and below the faults, and for each the edges of all forests at its ends
// revision: 1
// reference: Fragopoulou & Akl 1996, section 4.3; edge-disjoint-trees, pitfall 5 (a link fault kills both directions)

MATCH (f:Forest {id: $forest})
CALL (f) {
  UNWIND $nodes AS dead
  MATCH (:Node {topology: f.topology, label: dead})-[broken:TREE_EDGE {forest: f.id}]->(below)
  RETURN broken, broken.tree AS tree, below
  UNION
  UNWIND $links AS link
  MATCH (:Node {topology: f.topology, label: split(link, '-')[0]})-[broken:TREE_EDGE {forest: f.id}]-(other)
  WHERE other.label = split(link, '-')[1]
  RETURN broken, broken.tree AS tree, endNode(broken) AS below
}
// Whatever hangs below is cut off. A node is found once for every fault above it.
MATCH (below)(()-[e:TREE_EDGE WHERE e.tree = tree AND e.forest = $forest]->())*(node)
WHERE NOT node.label IN $nodes
WITH DISTINCT coalesce(last(e), broken) AS edge, node
RETURN edge.tree AS tree, edge.level AS level, startNode(edge).label AS parent, node.label AS node
ORDER BY tree, level, node
