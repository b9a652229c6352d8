// title: Nodes whose loss cuts off the most nodes
// question: Which single nodes, if dead, cut off the most other nodes, counted once per tree that
//     no longer reaches them?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   limit (int >= 1, default 10): maximum number of nodes to list; ties are ordered by label
// columns:
//   node (node): a node other than the root; the loss of the root would cut off all nodes
//   unreached: number of nodes that the loss of the node cuts off (those below it), summed over all
//     trees
//   unreached_by_tree: the same number for each tree separately, starting with tree 0
// cost: for every node of every tree, all edges on its path from the root (in total trees x nodes x
//     mean level) and the edges of all forests that leave the node
// revision: 2
// reference: Fragopoulou & Akl 1996, section 4.3

MATCH (f:Forest {id: $forest})
MATCH (root:Node {topology: f.topology, rank: f.root})
MATCH (root)-[first:TREE_EDGE {forest: f.id}]->(child)
WITH f, first, first.tree AS tree, child
// Every node is matched once per tree, together with the edges on its path from the root. It counts
// for each of these edges, because it is in the subtree below the edge.
MATCH (child)(()-[e:TREE_EDGE WHERE e.tree = tree AND e.forest = $forest]->())*()
UNWIND [first] + e AS edge
WITH f, edge, count(*) AS size
WITH f, endNode(edge) AS node, sum(size - 1) AS cut, collect({tree: edge.tree,
  cut: size - 1}) AS parts
ORDER BY cut DESC, node.rank
LIMIT $limit
RETURN node.label AS node, cut AS unreached,
  [tree IN range(0, f.trees - 1) | coalesce(head([part IN parts
    WHERE part.tree = tree | part.cut]), 0)] AS unreached_by_tree
ORDER BY unreached DESC, node
