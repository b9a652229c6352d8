// title: A path that avoids nodes and links
// question: How does a message travel by the shortest way that avoids given nodes and links?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the node where the path begins
//   target (node): label of the node where it ends
//   nodes (list of node, default []): labels of nodes to avoid; if one is an end, there is no path
//   links (list of link, default []): links to avoid, in both directions
// columns:
//   length: links on the path; there is no row if there is no path
//   nodes (list of node): labels of the nodes on the path, the two ends included
//   ports: port that each hop leaves by
// cost: the nodes within half the path's length of either end
// revision: 1
// reference: Fragopoulou & Akl 1996, section 4.3; Akers & Krishnamurthy 1989 (S_n stays connected after n-2 faults)

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (source:Node {topology: t.spec, label: $source})
  RETURN source
}
// In a subquery of its own, or the planner multiplies the two ends.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
// What a link is avoided by is said of the link alone, not of the nodes before and after it: Neo4j 5 would check that of whole
// paths only, and where there is none try all.
MATCH path = SHORTEST 1 (source)(()-[l:LINK
  WHERE NOT startNode(l).label + '-' + endNode(l).label IN $links
    AND NOT endNode(l).label + '-' + startNode(l).label IN $links
]-(v WHERE NOT v.label IN $nodes))*(target)
WHERE NOT source.label IN $nodes
// A link bears the port of its lower end. The other end's is the same but for residual ports of (n,k)-stars.
// properties(t).k, not t.k: where no (n,k)-star is stored, Neo4j does not know that property and would say so.
WITH t, nodes(path) AS nodes, relationships(path) AS links
RETURN size(links) AS length, [v IN nodes | v.label] AS nodes,
  [i IN range(0, size(links) - 1) | CASE
    WHEN nodes[i].rank > nodes[i + 1].rank AND links[i].port > properties(t).k THEN t.n + properties(t).k + 1 - links[i].port
    ELSE links[i].port
  END] AS ports
