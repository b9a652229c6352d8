// title: Members of a substar
// question: Which nodes have given symbols in some positions of their labels? For positions other
//     than the first, they form a substar.
// parameters:
//   topology (topology): name of the topology
//   pattern (pattern): a label with * in the free positions, such as ****5 for S_4(5) in S5
// columns:
//   rank: rank of the node
//   node (node): label of the node
// cost: reads every node of the topology once
// revision: 3
// reference: Akers & Krishnamurthy 1989; Sheu, Liaw & Chen 1993, section 2

// Neo4j uses the index on topology and rank only if both are constrained; hence `rank >= 0`.
MATCH (node:Node {topology: $topology} WHERE node.rank >= 0)
WHERE all(i IN range(0, size($pattern) - 1) WHERE substring($pattern, i, 1) IN ['*',
  substring(node.label, i, 1)])
RETURN node.rank AS rank, node.label AS node
ORDER BY rank
