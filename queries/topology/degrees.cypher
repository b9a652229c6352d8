// title: Degrees
// question: How many nodes of a topology have one link, two links, three links, and so on?
// parameters:
//   topology (topology): name of the topology
// columns:
//   degree: number of links of a node
//   nodes: number of nodes with this degree
//   lowest_node (node): node of lowest rank with this degree
// cost: reads every node once; Neo4j stores the number of links of a node
// revision: 1
// reference: Barabasi & Albert 1999 (degrees of scale-free networks)

// Neo4j uses the index on topology and rank only if both are constrained; hence `rank >= 0`.
MATCH (node:Node {topology: $topology} WHERE node.rank >= 0)
WITH node, COUNT { (node)-[:LINK]-() } AS degree
ORDER BY node.rank
RETURN degree, count(node) AS nodes, head(collect(node.label)) AS lowest_node
ORDER BY degree
