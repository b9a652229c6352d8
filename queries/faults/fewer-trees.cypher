// title: Nodes reached by fewer trees
// question: Which trees of a forest still reach the nodes that given dead nodes and links cut off
//     in other trees?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   dead_nodes (list of node, default []): labels of the dead nodes; if the root is dead, the trees
//     reach no node
//   dead_links (list of link, default []): the dead links, which transmit data in neither direction
//   required_trees (int >= 1, default 1): list the nodes that are reached by fewer trees than this
//     number; with 1, list the nodes that no tree reaches
// columns:
//   node (node): a living node that is cut off in some tree
//   trees_left: number of trees that still reach the node
//   reaching_trees: numbers of the trees that still reach the node
//   failing_trees: numbers of the trees in which the node is cut off
// cost: reads every tree edge at or below a fault and, for each of these edges, the edges of all
//     forests at the two ends of the edge. It also reads the tree edges that enter a node that is
//     cut off in some tree
// revision: 2
// reference: Fragopoulou & Akl 1996, section 4.3

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
WITH node, tree
ORDER BY tree
WITH node, collect(tree) AS cut
WITH node, cut, COLLECT {
  MATCH (node)<-[e:TREE_EDGE {forest: $forest}]-()
    WHERE NOT e.tree IN cut RETURN e.tree AS tree ORDER BY tree
} AS through
WHERE size(through) < $required_trees
RETURN node.label AS node, size(through) AS trees_left, through AS reaching_trees,
  cut AS failing_trees
ORDER BY trees_left, node
