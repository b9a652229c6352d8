// title: Nodes whose parent differs between two forests
// question: Which nodes have another parent in tree i of one forest than in tree i of another on the same topology?
// parameters:
//   forest (forest): id of one forest, as 'starcast tree list' prints it
//   other (forest): id of the other; where one has more trees, those are compared whose numbers both have
// columns:
//   tree: number of the tree in both forests
//   node (node): label of the node
//   parent (node): its parent in the first forest; nothing at the root and where the node is not in that tree
//   instead (node): its parent in the other; nothing likewise
// cost: every edge of both forests once
// revision: 1
// reference: conventions: forest (trees in a fixed order)

MATCH (f:Forest {id: $forest})
CALL (f) {
  MATCH (g:Forest {id: $other, topology: f.topology})
  RETURN CASE WHEN f.trees < g.trees THEN f.trees ELSE g.trees END AS trees
}
// The index is on forest and tree; it is used only where both are asked for.
MATCH (above:Node)-[e:TREE_EDGE WHERE e.forest IN [$forest, $other] AND e.tree >= 0]->(node:Node)
WHERE e.tree < trees
WITH e.tree AS tree, node,
  head(collect(CASE WHEN e.forest = $forest THEN above END)) AS parent,
  head(collect(CASE WHEN e.forest = $other THEN above END)) AS instead
WHERE parent IS NULL OR instead IS NULL OR parent <> instead
RETURN tree, node.label AS node, parent.label AS parent, instead.label AS instead
ORDER BY tree, node
