// title: Most loaded links
// question: Which directed links are used by the most trees of a forest, and by which trees?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   limit (int >= 1, default 10): maximum number of links to list; ties are ordered by sender and
//     port
// columns:
//   sender (node): the node that the link leaves
//   port: port of the sender that leads to the receiver
//   receiver (node): the node that the link enters
//   load: number of trees that use the link from parent to child
//   tree_numbers: numbers of the trees that use the link
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges. It also reads the
//     labels of the two ends of every link that the forest uses
// revision: 3
// reference: docs/definitions/conventions.md, congestion is the maximum load

// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(receiver:Node)
WITH sender, receiver, e
ORDER BY e.tree
WITH sender, receiver, e.port AS port, collect(e.tree) AS trees
RETURN sender.label AS sender, port, receiver.label AS receiver, size(trees) AS load,
  trees AS tree_numbers
ORDER BY load DESC, sender, port
LIMIT $limit
