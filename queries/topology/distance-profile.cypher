// title: Distance profile
// question: How many nodes are at each distance from a node?
// parameters:
//   topology (topology): name of the topology
//   node (node): label of the node
// columns:
//   distance: links on a shortest path
//   nodes: how many nodes are so far away, the node itself at distance 0
// cost: every link of the topology twice
// revision: 2
// reference: Akers & Krishnamurthy 1989

MATCH (node:Node {topology: $topology, label: $node})
// Asked for the least length only, the planner searches in breadth and visits every link once.
MATCH (node)-[links:LINK*0..]-(other)
WITH other, min(size(links)) AS distance
RETURN distance, count(other) AS nodes
ORDER BY distance
