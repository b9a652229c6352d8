// title: Most loaded links
// question: Which directed links carry most trees of a forest, and which trees?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   count (int >= 1, default 10): how many links to list; of equal ones the first by sender and port
// columns:
//   sender (node): node that the link leaves
//   port: port of the sender
//   receiver (node): node that the link enters
//   load: how many trees use the link from parent to child
//   trees: their numbers
// cost: every edge of the forest once, at most trees x (nodes - 1), and the labels of all links that they use
// revision: 2
// reference: conventions: congestion is the greatest load

// The index is on forest and tree; it is used only where both are asked for.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(receiver:Node)
WITH sender, receiver, e
ORDER BY e.tree
WITH sender, receiver, e.port AS port, collect(e.tree) AS trees
RETURN sender.label AS sender, port, receiver.label AS receiver, size(trees) AS load, trees
ORDER BY load DESC, sender, port
LIMIT $count
