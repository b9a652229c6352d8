// title: Distance profile
// question: How many nodes are at each distance from a node?
// parameters:
//   topology (topology): name of the topology
//   node (node): label of the node
// columns:
//   distance: number of links of a shortest path
//   nodes: number of nodes at that distance; the node itself is at distance 0
// cost: reads every link of the topology twice
// revision: 2
// reference: Akers & Krishnamurthy 1989

MATCH (node:Node {topology: $topology, label: $node})
// Only the minimum length of the paths to a node is used, so the planner searches breadth-first
// instead of following all paths.
MATCH (node)-[links:LINK*0..]-(other)
WITH other, min(size(links)) AS distance
RETURN distance, count(other) AS nodes
ORDER BY distance
