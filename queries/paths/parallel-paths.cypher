// title: Parallel paths to a node
// question: By which paths, one in each tree of a forest, does a node hear from the root, how long are they, and what does each
//     share with the others?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   node (node): label of the node where the paths end
// columns:
//   tree: number of the tree in the forest; trees that lack the node have no row
//   length: links on the path, which is the node's level in that tree
//   nodes (list of node): labels of the nodes on the path, from the root
//   ports: port that each hop leaves by
//   shared_nodes (list of node): nodes between the ends that paths in other trees pass too
//   shared_links (list of link): links, as sender-receiver, that paths in other trees use in the same direction too
// cost: the links of the paths, for each the edges of all forests that enter its end, and each compared with each
// revision: 2
// reference: Tseng & Sheu 1997, Def. 2; Fragopoulou & Akl 1996, Def. 8

MATCH (f:Forest {id: $forest})
MATCH (node:Node {topology: f.topology, label: $node})
UNWIND range(0, f.trees - 1) AS tree
// Up from the node; where a tree lacks it, its way up does not lead to the root.
MATCH up = (node)(()<-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree = tree]-())*(root)
WHERE root.rank = f.root
WITH tree, reverse(nodes(up)) AS nodes, [e IN reverse(relationships(up)) | e.port] AS ports
WITH tree, nodes, ports, [i IN range(1, size(nodes) - 1) | [nodes[i - 1], nodes[i]]] AS hops
WITH collect({tree: tree, nodes: nodes, ports: ports, hops: hops}) AS paths
UNWIND paths AS path
WITH path, [other IN paths WHERE other.tree <> path.tree] AS others
RETURN path.tree AS tree, size(path.hops) AS length, [v IN path.nodes | v.label] AS nodes, path.ports AS ports,
  [v IN path.nodes[1..-1] WHERE any(other IN others WHERE v IN other.nodes) | v.label] AS shared_nodes,
  [hop IN path.hops WHERE any(other IN others WHERE hop IN other.hops) | hop[0].label + '-' + hop[1].label] AS shared_links
ORDER BY tree
