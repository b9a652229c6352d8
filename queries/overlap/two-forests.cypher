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
MATCH (sender:Node {topology: f.topology})-[e:TREE_EDGE {forest: f.id}]->(receiver:Node)
WITH sender, receiver, e
ORDER BY e.tree
WITH sender, receiver, e.port AS port, collect(e.tree) AS trees
WITH sender, port, receiver, trees, COLLECT {
  MATCH (sender)-[o:TREE_EDGE {forest: $other}]->(receiver)
  RETURN o.tree ORDER BY o.tree
} AS others
WHERE size(others) >= 1
RETURN sender.label AS sender, port, receiver.label AS receiver, trees, others
ORDER BY sender, port
