// title: Nodes at a distance
// question: Which nodes are at a given distance from a node?
// parameters:
//   topology (topology): name of the topology
//   node (node): label of the node
//   distance (int >= 0): how many links away
// columns:
//   rank: rank of the node found
//   node (node): its label
// cost: every link of the topology twice, however near the nodes are
// revision: 2
// reference: Akers & Krishnamurthy 1989

MATCH (node:Node {topology: $topology, label: $node})
// Asked for the least length only, the planner searches in breadth and visits every link once.
MATCH (node)-[links:LINK*0..]-(other)
WITH other, min(size(links)) AS distance
WHERE distance = $distance
RETURN other.rank AS rank, other.label AS node
ORDER BY rank
