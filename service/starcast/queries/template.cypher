// title: TITLE
// question: Which nodes are adjacent to a node?
// parameters:
//   topology (topology): name of a stored topology, such as S5
//   node (node): label of the node
//   min_rank (int >= 0, default 0): list only neighbours of at least this rank
// columns:
//   neighbour (node): label of the neighbour
//   rank: rank of the neighbour

// Replace the header and the statement; 'starcast query check FILE' checks them. docs/queries.md
// describes the header, and docs/schema.md the labels, types and properties of the graph.
MATCH (node:Node {topology: $topology, label: $node})-[:LINK]-(neighbour:Node)
WHERE neighbour.rank >= $min_rank
RETURN neighbour.label AS neighbour, neighbour.rank AS rank
ORDER BY rank
