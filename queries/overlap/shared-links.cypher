// title: Links shared by several trees
// question: Which directed links are used by several trees of a forest, and by which trees?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   min_load (int >= 1, default 2): list links that at least this many trees use
// columns:
//   sender (node): the node that the link leaves
//   port: port of the sender that leads to the receiver
//   receiver (node): the node that the link enters
//   load: number of trees that use the link from parent to child
//   tree_numbers: numbers of the trees that use the link
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges
// revision: 3
// reference: Tseng & Sheu 1997, Lemma 6 (no link carries more than two of the n-1 trees)

// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(receiver:Node)
WITH sender, receiver, e
ORDER BY e.tree
WITH sender, receiver, e.port AS port, collect(e.tree) AS trees
WHERE size(trees) >= $min_load
RETURN sender.label AS sender, port, receiver.label AS receiver, size(trees) AS load,
  trees AS tree_numbers
ORDER BY load DESC, sender, port
