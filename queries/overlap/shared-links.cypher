// title: Links that several trees share
// question: Which directed links do several trees of a forest use, and which trees?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   least (int >= 1, default 2): how many trees a link must carry to be listed
// columns:
//   sender (node): node that the link leaves
//   port: port of the sender
//   receiver (node): node that the link enters
//   load: how many trees use the link from parent to child
//   trees: their numbers
// cost: every edge of the forest once, at most trees x (nodes - 1)
// revision: 2
// reference: Tseng & Sheu 1997, Lemma 6 (no link of the n-1 trees carries more than two)

// The index is on forest and tree; it is used only where both are asked for.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(receiver:Node)
WITH sender, receiver, e
ORDER BY e.tree
WITH sender, receiver, e.port AS port, collect(e.tree) AS trees
WHERE size(trees) >= $least
RETURN sender.label AS sender, port, receiver.label AS receiver, size(trees) AS load, trees
ORDER BY load DESC, sender, port
