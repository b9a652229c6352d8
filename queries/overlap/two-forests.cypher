// title: Overlap of two forests
// question: Which directed links are used by trees of one forest and by trees of another on the same topology?
// parameters:
//   forest (forest): id of one forest, as 'starcast tree list' prints it
//   other (forest): id of the other
// columns:
//   sender: node that the link leaves
//   port: port of the sender
//   receiver: node that the link enters
//   trees: trees of the first forest that use the link from parent to child
//   others: trees of the other that do
// revision: 1
// reference: conventions: load of a directed link

MATCH (f:Forest {id: $forest})
// The index is on topology and rank; it is used only where both are asked for.
MATCH (sender:Node {topology: f.topology} WHERE sender.rank >= 0)-[e:TREE_EDGE]->(receiver:Node)
WHERE e.forest IN [$forest, $other]
WITH sender, receiver, e
ORDER BY e.tree
WITH sender, receiver, e.port AS port,
  collect(CASE WHEN e.forest = $forest THEN e.tree END) AS trees,
  collect(CASE WHEN e.forest = $other THEN e.tree END) AS others
WHERE size(trees) >= 1 AND size(others) >= 1
RETURN sender.label AS sender, port, receiver.label AS receiver, trees, others
ORDER BY sender, port
