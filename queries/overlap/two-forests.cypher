// title: Overlap of two forests
// question: Which directed links are used both by trees of one forest and by trees of another
//     forest on the same topology?
// parameters:
//   forest (forest): id of the first forest, as printed by 'starcast forest list'
//   other_forest (forest): id of the second forest
// columns:
//   sender (node): the node that the link leaves
//   port: port of the sender that leads to the receiver
//   receiver (node): the node that the link enters
//   tree_numbers: numbers of the trees of the first forest that use the link from parent to child
//   other_tree_numbers: numbers of the trees of the second forest that use the link from parent to
//     child
// cost: reads every edge of both forests once
// revision: 3
// reference: docs/definitions/conventions.md, load of a directed link

// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest IN [$forest, $other_forest]
  AND e.tree >= 0]->(receiver:Node)
WITH sender, receiver, e
ORDER BY e.tree
WITH sender, receiver, e.port AS port,
  collect(CASE WHEN e.forest = $forest THEN e.tree END) AS trees,
  collect(CASE WHEN e.forest = $other_forest THEN e.tree END) AS others
WHERE size(trees) >= 1 AND size(others) >= 1
RETURN sender.label AS sender, port, receiver.label AS receiver, trees AS tree_numbers,
  others AS other_tree_numbers
ORDER BY sender, port
