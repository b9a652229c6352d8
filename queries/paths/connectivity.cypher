// title: Connectivity of two nodes, and a smallest cut
// question: How many paths without a common inner node lead from one node to another, and which
//     nodes have to be removed to separate the two nodes?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the first node of the paths
//   target (node): label of the last node of the paths, other than the source
// columns:
//   connectivity: maximum number of paths without a common inner node
//   cut (list of node): labels of a smallest set of inner nodes whose removal separates the two
//     nodes. If a link joins the two nodes, the link has to be removed as well, and the set has one
//     node less than the connectivity
//   adjacent: whether a link joins the two nodes
// cost: reads every node of the paths. It also searches nodes on both sides of the cut, at most
//     twice as many as there are on the smaller side. Before the query runs, starcast computes the
//     paths as $disjoint_paths and the cut as $smallest_cut
// revision: 1
// reference: Menger 1927 (the largest number of disjoint paths between two nodes that are not
//     adjacent is the smallest number of nodes that separate them)

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
