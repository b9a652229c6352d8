// title: Connectivity of two nodes, and a smallest cut
// question: How many paths without a common inner node join two nodes, and which nodes have to be
//     removed to separate them?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the first node of the paths
//   target (node): label of the last node of the paths, other than the source
// columns:
//   connectivity: largest number of paths without a common inner node
//   cut (list of node): labels of a smallest set of inner nodes whose removal, together with the
//     link that may join the two nodes, separates them; with such a link, the set has one node less
//     than the connectivity
//   adjacent: whether a link joins the two nodes; to separate them, it has to be removed as well
// cost: every node of the paths, and nodes on both sides of the cut, at most twice as many as the
//     smaller side has. Before the query runs, starcast computes the paths as $disjoint_paths and
//     the cut as $smallest_cut
// revision: 1
// reference: Menger 1927 (as many disjoint paths as nodes that separate the two)

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (source:Node {topology: t.spec, label: $source})
  RETURN source
}
// The second node has its own subquery: otherwise the planner builds a cartesian product.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
CALL (t) {
  UNWIND $disjoint_paths AS labels
  UNWIND range(1, size(labels) - 1) AS hop
  MATCH (sender:Node {topology: t.spec, label: labels[hop - 1]})-[:LINK]-(receiver)
  WHERE receiver.label = labels[hop]
  WITH labels, count(*) AS hops
  WHERE hops = size(labels) - 1
  RETURN count(*) AS paths
}
OPTIONAL MATCH (source)-[direct:LINK]-(target)
WITH source, target, paths, direct
// The graph confirms the result: it has the paths, and without the cut it has no path.
WHERE paths = size($smallest_cut) + CASE WHEN direct IS NULL THEN 0 ELSE 1 END AND NOT EXISTS {
  MATCH SHORTEST 1 (source)(()-[link:LINK WHERE direct IS NULL OR link <> direct]-(inner
    WHERE NOT inner.label IN $smallest_cut))+(target)
}
RETURN paths AS connectivity, $smallest_cut AS cut, direct IS NOT NULL AS adjacent
