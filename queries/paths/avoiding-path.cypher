// title: A shortest path that avoids nodes and links
// question: What is a shortest path between two nodes that avoids given nodes and links?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the first node of the path
//   target (node): label of the last node of the path
//   avoided_nodes (list of node, default []): labels of the nodes to avoid; if the source or the
//     target is among them, no path exists
//   avoided_links (list of link, default []): the links to avoid, in both directions
// columns:
//   length: number of links of the path; no row if no path exists
//   path (list of node): labels of the nodes on the path, including both ends
//   ports: for each hop of the path, the port through which the path leaves a node
// cost: searches all nodes whose distance from the source or from the target is at most half the
//     length of the path
// revision: 3
// reference: Fragopoulou & Akl 1996, section 4.3; Akers & Krishnamurthy 1989 (S_n stays connected
//     after n-2 faults)

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
// The condition on a link mentions only the link, not the nodes before and after it. Neo4j 5 would
// check a condition on these nodes on complete paths only, and try all paths if none satisfies it.
MATCH path = SHORTEST 1 (source)(()-[l:LINK
  WHERE NOT startNode(l).label + '-' + endNode(l).label IN $avoided_links
    AND NOT endNode(l).label + '-' + startNode(l).label IN $avoided_links
]-(v WHERE NOT v.label IN $avoided_nodes))*(target)
WHERE NOT source.label IN $avoided_nodes
// A LINK stores only the port of its lower-ranked end.
WITH t, nodes(path) AS nodes, relationships(path) AS links
RETURN size(links) AS length, [v IN nodes | v.label] AS path,
  [i IN range(0, size(links) - 1) | CASE WHEN nodes[i].rank < nodes[i + 1].rank
    THEN links[i].port ELSE t.reverse_ports[links[i].port] END] AS ports
