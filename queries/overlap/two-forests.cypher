// title: Overlap of two forests
// question: Which directed links are used by trees of one forest and by trees of another on the same topology?
// parameters:
//   forest (forest): id of one forest, as 'starcast tree list' prints it
//   other (forest): id of the other
// columns:
//   sender (node): node that the link leaves
//   port: port of the sender
//   receiver (node): node that the link enters
//   trees: trees of the first forest that use the link from parent to child
//   others: trees of the other that do
// cost: every edge of both forests once
// revision: 2
// reference: conventions: load of a directed link

// The index is on forest and tree; it is used only where both are asked for.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest IN [$forest, $other] AND e.tree >= 0]->(receiver:Node)
WITH sender, receiver, e
ORDER BY e.tree
WITH sender, receiver, e.port AS port,
  collect(CASE WHEN e.forest = $forest THEN e.tree END) AS trees,
  collect(CASE WHEN e.forest = $other THEN e.tree END) AS others
WHERE size(trees) >= 1 AND size(others) >= 1
RETURN sender.label AS sender, port, receiver.label AS receiver, trees, others
ORDER BY sender, port
