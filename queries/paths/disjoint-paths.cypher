// title: Disjoint paths
// question: Which paths form a largest set of paths from one node to another without a common inner
//     node, and have the smallest total length?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the first node of the paths
//   target (node): label of the last node of the paths, other than the source
// columns:
//   length: number of links of the path
//   path (list of node): labels of the nodes on the path, including both ends
//   ports: for each hop of the path, the port through which the path leaves a node
// cost: reads every node and link of the paths. Before the query runs, starcast computes the paths
//     as $disjoint_paths. This computation reads only nodes on paths that are not much longer than
//     the distance between the two nodes
// revision: 1
// reference: Akers & Krishnamurthy 1989 (S_n has n-1 such paths between any two nodes); Day &
//     Tripathi 1994 (each is at most 4 links longer than the distance)

MATCH (t:Topology {spec: $topology})
UNWIND $disjoint_paths AS labels
CALL (t, labels) {
  UNWIND range(0, size(labels) - 1) AS place
  MATCH (v:Node {topology: t.spec, label: labels[place]})
  WITH place, v
  ORDER BY place
  RETURN collect(v) AS nodes
}
CALL (t, nodes) {
  UNWIND range(1, size(nodes) - 1) AS hop
  WITH hop, nodes[hop - 1] AS sender, nodes[hop] AS receiver
  MATCH (sender)-[l:LINK]-(receiver)
  // A LINK stores only the port of its lower-ranked end.
  WITH hop, CASE WHEN sender.rank < receiver.rank THEN l.port
    ELSE t.reverse_ports[l.port] END AS port
  ORDER BY hop
  RETURN collect(port) AS ports
}
// A computed path that the graph does not contain gives no row.
WITH nodes, ports
WHERE nodes[0].label = $source AND nodes[-1].label = $target AND size(ports) = size(nodes) - 1
RETURN size(ports) AS length, [v IN nodes | v.label] AS path, ports
ORDER BY length, ports
