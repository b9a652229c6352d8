// title: Nodes whose loss cuts off the most nodes
// question: Which single nodes cut off the most other nodes if they are dead? A node counts once
//     for each tree that no longer reaches it.
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   limit (int >= 1, default 10): maximum number of nodes to list; if several nodes cut off the
//     same number of nodes, the nodes of lowest rank are listed
// columns:
//   node (node): a node other than the root; if the root were dead, all nodes would be cut off
//   unreached: number of nodes that are cut off if the node is dead (the nodes below it), summed
//     over all trees
//   unreached_by_tree: list with the number of nodes that are cut off in each tree, starting with
//     tree 0
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges
// revision: 3
// reference: Fragopoulou & Akl 1996, section 4.3

MATCH (f:Forest {id: $forest})
CALL (f) {
  // Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
  MATCH ()-[e:TREE_EDGE WHERE e.forest = f.id AND e.tree >= 0]->(node)
  RETURN e, node
}
WITH f, node, sum(e.subtree_nodes - 1) AS cut,
  collect({tree: e.tree, cut: e.subtree_nodes - 1}) AS parts
ORDER BY cut DESC, node.rank
LIMIT $limit
RETURN node.label AS node, cut AS unreached,
  [tree IN range(0, f.trees - 1) | coalesce(head([part IN parts
    WHERE part.tree = tree | part.cut]), 0)] AS unreached_by_tree
ORDER BY unreached DESC, node
