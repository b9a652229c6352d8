// title: The path in tree i
// question: How does a message travel from one node to another in tree i of a forest, over which ports?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   tree (tree): number of the tree in the forest, from 0
//   source (node): label of the node where the path begins; the root's, to go with the tree's links all the way
//   target (node): label of the node where it ends
// columns:
//   length: links on the path; there is no row if the tree lacks an end
//   climbed: how many of them, the first ones, go from child to parent; the others go from parent to child
//   nodes (list of node): labels of the nodes on the path, the two ends included
//   ports: port that each hop leaves by
// cost: the links of the tree from either end up to the root, and for each the edges of all forests that enter its end
// revision: 3
// reference: Tseng & Sheu 1997, Def. 1 and 2

MATCH (f:Forest {id: $forest})-[:ON]->(t:Topology)
// Each end climbs in a subquery of its own; else the planner may search the whole tree from the root for the second.
// Where the tree lacks an end, its way up does not lead to the root.
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
// The two ways to the root are one from where they meet on; that part is not travelled.
WITH t, up, down,
  size([v IN nodes(up) WHERE NOT v IN nodes(down)]) AS climbed,
  size([v IN nodes(down) WHERE NOT v IN nodes(up)]) AS descended
RETURN climbed + descended AS length, climbed,
  [v IN nodes(up)[..climbed + 1] + reverse(nodes(down)[..descended]) | v.label] AS nodes,
  // A tree's link bears the parent's port. The child's is the same but for residual ports of (n,k)-stars.
  // properties(t).k, not t.k: where no (n,k)-star is stored, Neo4j does not know that property and would say so.
  [e IN relationships(up)[..climbed] | CASE WHEN e.port > properties(t).k THEN t.n + properties(t).k + 1 - e.port ELSE e.port END] +
  [e IN reverse(relationships(down)[..descended]) | e.port] AS ports
