// title: Nodes at a distance
// question: Which nodes are at a given distance from a node?
// parameters:
//   topology (topology): name of the topology
//   node (node): label of the node
//   distance (int >= 0): distance between the given node and the listed nodes, in links
// columns:
//   rank: rank of a node at that distance
//   node (node): label of that node
// cost: reads every link of the topology twice, even for a small distance
// revision: 2
// reference: Akers & Krishnamurthy 1989

MATCH (node:Node {topology: $topology, label: $node})
// Only the minimum length of the paths to a node is used, so the planner searches breadth-first
// instead of following all paths.
MATCH (node)-[links:LINK*0..]-(other)
WITH other, min(size(links)) AS distance
WHERE distance = $distance
RETURN other.rank AS rank, other.label AS node
ORDER BY rank
