// title: The path in a tree
// question: What is the path from one node to another in a tree of a forest, and through which
//     ports does it lead?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   tree (tree): number of the tree in the forest, from 0
//   source (node): label of the first node of the path; if it is the root, all hops go from parent
//     to child
//   target (node): label of the last node of the path
// columns:
//   length: number of links of the path; no row if one of the two nodes is not in the tree
//   upward_links: number of links from child to parent, with which the path begins; all later links
//     go from parent to child
//   path (list of node): labels of the nodes on the path, including both ends
//   ports: for each hop of the path, the port through which the path leaves a node
// cost: reads every node on the paths from the source and the target to the root of the tree, and
//     the edges of all forests that enter these nodes
// revision: 5
// reference: Tseng & Sheu 1997, Def. 1 and 2

MATCH (f:Forest {id: $forest})-[:ON]->(t:Topology)
// Each end has its own subquery: otherwise the planner may search for the second end downwards from
// the root. If an end is not in the tree, the match upwards from it never reaches the root.
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
// The part that the two paths to the root have in common does not belong to the result.
WITH t, up, down,
  size([v IN nodes(up) WHERE NOT v IN nodes(down)]) AS climbed,
  size([v IN nodes(down) WHERE NOT v IN nodes(up)]) AS descended
RETURN climbed + descended AS length, climbed AS upward_links,
  [v IN nodes(up)[..climbed + 1] + reverse(nodes(down)[..descended]) | v.label] AS path,
  // A TREE_EDGE stores only the port of its parent.
  [e IN relationships(up)[..climbed] | t.reverse_ports[e.port]] +
  [e IN reverse(relationships(down)[..descended]) | e.port] AS ports
