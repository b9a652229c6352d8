// title: A shortest path that avoids nodes and links
// question: What is a shortest path between two nodes that avoids given nodes and links?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the first node of the path
//   target (node): label of the last node of the path
//   avoided_nodes (list of node, default []): labels of the nodes to avoid; no path exists if an
//     end is among them
//   avoided_links (list of link, default []): the links to avoid, in both directions
// columns:
//   length: number of links of the path; no row if no path exists
//   path (list of node): labels of the nodes of the path, including its ends
//   ports: port through which each hop leaves
// cost: the nodes within half the path's length of either end
// revision: 3
// reference: Fragopoulou & Akl 1996, section 4.3; Akers & Krishnamurthy 1989 (S_n stays connected
//     after n-2 faults)

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (source:Node {topology: t.spec, label: $source})
  RETURN source
}
// The second end has its own subquery: otherwise the planner builds a cartesian product of both.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
// The condition on a link mentions only the link, not the nodes before and after it: Neo4j 5 would
// check such a condition on complete paths, and try all paths if none satisfies it.
MATCH path = SHORTEST 1 (source)(()-[l:LINK
  WHERE NOT startNode(l).label + '-' + endNode(l).label IN $avoided_links
    AND NOT endNode(l).label + '-' + startNode(l).label IN $avoided_links
]-(v WHERE NOT v.label IN $avoided_nodes))*(target)
WHERE NOT source.label IN $avoided_nodes
// LINK has the port of its lower-ranked end.
WITH t, nodes(path) AS nodes, relationships(path) AS links
RETURN size(links) AS length, [v IN nodes | v.label] AS path,
  [i IN range(0, size(links) - 1) | CASE WHEN nodes[i].rank < nodes[i + 1].rank
    THEN links[i].port ELSE t.reverse_ports[links[i].port] END] AS ports
