// title: Neighbours of a node
// question: Which nodes are next to a node, and by which port?
// parameters:
//   topology (topology): name of the topology
//   node (node): label of the node
// columns:
//   port: port of the node
//   neighbour (node): the node across it
// cost: the links of the node
// revision: 3
// reference: Akers & Krishnamurthy 1989 (port i exchanges the symbols in positions 1 and i)

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (node:Node {topology: t.spec, label: $node})-[l:LINK]-(neighbour:Node)
  RETURN node, l, neighbour
}
// A link bears the port of its lower end. The other end's is the same but for residual ports of (n,k)-stars.
// properties(t).k, not t.k: where no (n,k)-star is stored, Neo4j does not know that property and would say so.
RETURN CASE WHEN node.rank > neighbour.rank AND l.port > properties(t).k THEN t.n + properties(t).k + 1 - l.port ELSE l.port END AS port,
  neighbour.label AS neighbour
ORDER BY port
