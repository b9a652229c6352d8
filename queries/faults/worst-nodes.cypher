// title: Nodes whose loss cuts most
// question: Which single nodes, if dead, cut off most nodes, counted once for every tree of a forest that misses them?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   count (int >= 1, default 10): how many to list; of equal ones the first by label
// columns:
//   node (node): a node other than the root, without which all are cut off
//   cut: nodes below it, in all trees together
//   by_tree: the same for each tree, from tree 0
// cost: every node of every tree, with all the edges on its way from the root: trees x nodes x mean level;
//     and for each node the edges of all forests that leave it
// revision: 1
// reference: Fragopoulou & Akl 1996, section 4.3

MATCH (f:Forest {id: $forest})
MATCH (root:Node {topology: f.topology, rank: f.root})
MATCH (root)-[first:TREE_EDGE {forest: f.id}]->(child)
WITH f, first, first.tree AS tree, child
// Every node once in every tree, with the edges on its way from the root: it hangs below each of them.
MATCH (child)(()-[e:TREE_EDGE WHERE e.tree = tree AND e.forest = $forest]->())*()
UNWIND [first] + e AS edge
WITH f, edge, count(*) AS size
WITH f, endNode(edge) AS node, sum(size - 1) AS cut, collect({tree: edge.tree, cut: size - 1}) AS parts
ORDER BY cut DESC, node.rank
LIMIT $count
RETURN node.label AS node, cut,
  [tree IN range(0, f.trees - 1) | coalesce(head([part IN parts WHERE part.tree = tree | part.cut]), 0)] AS by_tree
ORDER BY cut DESC, node
