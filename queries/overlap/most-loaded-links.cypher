// title: Most loaded links
// question: Which directed links carry most trees of a forest, and which trees?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   count (int >= 1, default 10): how many links to list; of equal ones the first by sender and port
// columns:
//   sender: node that the link leaves
//   port: port of the sender
//   receiver: node that the link enters
//   load: how many trees use the link from parent to child
//   trees: their numbers
// revision: 1
// reference: conventions: congestion is the greatest load

MATCH (f:Forest {id: $forest})
// The index is on topology and rank; it is used only where both are asked for.
MATCH (sender:Node {topology: f.topology} WHERE sender.rank >= 0)-[e:TREE_EDGE {forest: f.id}]->(receiver:Node)
WITH sender, receiver, e
ORDER BY e.tree
WITH sender, receiver, e.port AS port, collect(e.tree) AS trees
RETURN sender.label AS sender, port, receiver.label AS receiver, size(trees) AS load, trees
ORDER BY load DESC, sender, port
LIMIT $count
