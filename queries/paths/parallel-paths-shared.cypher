// title: What parallel paths share
// question: What do the paths to a node in two trees of a forest share: which nodes, and which links in the same or in opposite
//     directions?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   node (node): label of the node where the paths end
// columns:
//   first: number of a tree in the forest; trees that lack the node have no row
//   second: number of another tree, greater than the first
//   shared_nodes (list of node): nodes between the ends that both paths pass, in the order of the first
//   shared_links (list of link): links, as sender-receiver, that both use in the same direction
//   opposite_links (list of link): links, as the first uses them, that the second uses in the other direction
// cost: the links of the paths, for each the edges of all forests that enter its end, and each compared with each
// revision: 1
// reference: Tseng & Sheu 1997, Def. 2; Fragopoulou & Akl 1996, Def. 8

MATCH (f:Forest {id: $forest})
MATCH (node:Node {topology: f.topology, label: $node})
UNWIND range(0, f.trees - 1) AS tree
// Up from the node; where a tree lacks it, its way up does not lead to the root.
MATCH up = (node)(()<-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree = tree]-())*(root)
WHERE root.rank = f.root
WITH tree, reverse(nodes(up)) AS nodes
WITH tree, nodes, [i IN range(1, size(nodes) - 1) | [nodes[i - 1], nodes[i]]] AS hops
WITH collect({tree: tree, nodes: nodes, hops: hops}) AS paths
UNWIND paths AS one
UNWIND [other IN paths WHERE other.tree > one.tree] AS other
RETURN one.tree AS first, other.tree AS second,
  [v IN one.nodes[1..-1] WHERE v IN other.nodes | v.label] AS shared_nodes,
  [hop IN one.hops WHERE hop IN other.hops | hop[0].label + '-' + hop[1].label] AS shared_links,
  [hop IN one.hops WHERE reverse(hop) IN other.hops | hop[0].label + '-' + hop[1].label] AS opposite_links
ORDER BY first, second
