// title: Nodes with different parents in two forests
// question: Which nodes have different parents in tree i of one forest and in tree i of another
//     forest on the same topology?
// parameters:
//   forest (forest): id of the first forest, as printed by 'starcast forest list'
//   other_forest (forest): id of the second forest; if one forest has more trees than the other,
//     its additional trees are ignored
// columns:
//   tree: number of the tree in both forests
//   node (node): label of the node
//   parent (node): the node's parent in the first forest; null if the node is the root or is not in
//     that tree
//   other_parent (node): the node's parent in the second forest; null if the node is the root or is
//     not in that tree
// cost: reads every edge of both forests once
// revision: 2
// reference: docs/definitions/conventions.md, forest (trees in a fixed order)

MATCH (f:Forest {id: $forest})
CALL (f) {
  MATCH (g:Forest {id: $other_forest, topology: f.topology})
  RETURN CASE WHEN f.trees < g.trees THEN f.trees ELSE g.trees END AS trees
}
// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH (above:Node)-[e:TREE_EDGE WHERE e.forest IN [$forest, $other_forest]
  AND e.tree >= 0]->(node:Node)
WHERE e.tree < trees
WITH e.tree AS tree, node,
  head(collect(CASE WHEN e.forest = $forest THEN above END)) AS parent,
  head(collect(CASE WHEN e.forest = $other_forest THEN above END)) AS instead
WHERE parent IS NULL OR instead IS NULL OR parent <> instead
RETURN tree, node.label AS node, parent.label AS parent, instead.label AS other_parent
ORDER BY tree, node
