// title: The path in a tree
// question: Which is the path from one node to another in a tree of a forest, and through which
//     ports?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   tree (tree): number of the tree in the forest, from 0
//   source (node): label of the first node of the path; with the root, all hops go from parent to
//     child
//   target (node): label of the last node of the path
// columns:
//   length: number of links of the path; no row if the tree does not contain an end
//   upward_links: number of links, at the beginning, that go from child to parent; the others go
//     from parent to child
//   path (list of node): labels of the nodes of the path, including its ends
//   ports: port through which each hop leaves
// cost: the links of the tree from either end up to the root, and the edges of all forests that
//     enter the end of each link
// revision: 5
// reference: Tseng & Sheu 1997, Def. 1 and 2

MATCH (f:Forest {id: $forest})-[:ON]->(t:Topology)
// Each end has its own subquery; otherwise the planner may search the tree from the root for the
// second one. If the tree does not contain an end, its path up does not lead to the root.
CALL (f) {
  MATCH (source:Node {topology: f.topology, label: $source})
  MATCH up = (source)(()<-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree = $tree]-())*(root)
  WHERE root.rank = f.root
  RETURN up
}
CALL (f) {
  MATCH (target:Node {topology: f.topology, label: $target})
  MATCH down = (target)(()<-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree = $tree]-())*(root)
  WHERE root.rank = f.root
  RETURN down
}
// The common part of the two paths to the root is not on the path.
WITH t, up, down,
  size([v IN nodes(up) WHERE NOT v IN nodes(down)]) AS climbed,
  size([v IN nodes(down) WHERE NOT v IN nodes(up)]) AS descended
RETURN climbed + descended AS length, climbed AS upward_links,
  [v IN nodes(up)[..climbed + 1] + reverse(nodes(down)[..descended]) | v.label] AS path,
  // TREE_EDGE has the parent's port.
  [e IN relationships(up)[..climbed] | t.reverse_ports[e.port]] +
  [e IN reverse(relationships(down)[..descended]) | e.port] AS ports
