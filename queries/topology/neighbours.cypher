// title: Neighbours of a node
// question: Which nodes are adjacent to a node, and through which port?
// parameters:
//   topology (topology): name of the topology
//   node (node): label of the node
// columns:
//   port: port of the node
//   neighbour (node): the node across the port
// cost: reads every link of the node once
// revision: 4
// reference: Akers & Krishnamurthy 1989 (port i exchanges the symbols in positions 1 and i)

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (node:Node {topology: t.spec, label: $node})-[l:LINK]-(neighbour:Node)
  RETURN node, l, neighbour
}
// A LINK stores only the port of its lower-ranked end.
RETURN CASE WHEN node.rank < neighbour.rank THEN l.port ELSE t.reverse_ports[l.port] END AS port,
  neighbour.label AS neighbour
ORDER BY port
