// title: Neighbours of a node
// question: Which nodes are next to a node, and by which port?
// parameters:
//   topology (topology): name of the topology
//   node (node): label of the node
// columns:
//   port: port of the node
//   neighbour: the node across it
// revision: 1
// reference: Akers & Krishnamurthy 1989 (port i exchanges the symbols in positions 1 and i)

MATCH (node:Node {topology: $topology, label: $node})-[l:LINK]-(neighbour:Node)
RETURN l.port AS port, neighbour.label AS neighbour
ORDER BY port
