// title: Common parts of parallel paths
// question: Which inner nodes do the paths from the root to a node in two trees of a forest share,
//     and which links do they use in the same or in opposite directions?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   node (node): label of the last node of the paths
// columns:
//   first_tree: number of the first tree of the pair; trees that do not contain the node are
//     omitted
//   second_tree: number of the second tree of the pair, larger than that of the first
//   shared_nodes (list of node): inner nodes that both paths visit, in the order of the first path
//   shared_links (list of link): links that both paths use in the same direction, written
//     sender-receiver
//   opposite_links (list of link): links that the second path uses in the opposite direction,
//     written as the first path uses them
// cost: reads every node of the paths and the edges of all forests that enter these nodes, and
//     compares every pair of paths
// revision: 2
// reference: Tseng & Sheu 1997, Def. 2; Fragopoulou & Akl 1996, Def. 8

MATCH (f:Forest {id: $forest})
MATCH (node:Node {topology: f.topology, label: $node})
UNWIND range(0, f.trees - 1) AS tree
// The path is matched upwards from the node. In a tree without the node, no match reaches the root.
MATCH up = (node)(()<-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree = tree]-())*(root)
WHERE root.rank = f.root
WITH tree, reverse(nodes(up)) AS nodes
WITH tree, nodes, [i IN range(1, size(nodes) - 1) | [nodes[i - 1], nodes[i]]] AS hops
WITH collect({tree: tree, nodes: nodes, hops: hops}) AS paths
UNWIND paths AS one
UNWIND [other IN paths WHERE other.tree > one.tree] AS other
RETURN one.tree AS first_tree, other.tree AS second_tree,
  [v IN one.nodes[1..-1] WHERE v IN other.nodes | v.label] AS shared_nodes,
  [hop IN one.hops WHERE hop IN other.hops | hop[0].label + '-' + hop[1].label] AS shared_links,
  [hop IN one.hops WHERE reverse(hop) IN other.hops | hop[0].label + '-'
    + hop[1].label] AS opposite_links
ORDER BY first_tree, second_tree
