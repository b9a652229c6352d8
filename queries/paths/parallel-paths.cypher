// title: Parallel paths to a node
// question: What are the paths from the root to a node in the trees of a forest, how long
//     are they, and which nodes and links does each path share with the other paths?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   node (node): label of the last node of the paths
// columns:
//   tree: number of the tree in the forest; trees that do not contain the node are omitted
//   length: number of links of the path, which is the level of the node in that tree
//   path (list of node): labels of the nodes of the path, from the root
//   ports: for each hop of the path, the port through which the path leaves a node
//   shared_nodes (list of node): inner nodes that paths in other trees visit too
//   shared_links (list of link): links that paths in other trees use in the same direction, written
//     sender-receiver
// cost: reads every node of the paths and the edges of all forests that enter these nodes, and
//     compares every pair of paths
// revision: 3
// reference: Tseng & Sheu 1997, Def. 2; Fragopoulou & Akl 1996, Def. 8

MATCH (f:Forest {id: $forest})
MATCH (node:Node {topology: f.topology, label: $node})
UNWIND range(0, f.trees - 1) AS tree
// The path is matched upwards from the node. In a tree without the node, no match reaches the root.
MATCH up = (node)(()<-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree = tree]-())*(root)
WHERE root.rank = f.root
WITH tree, reverse(nodes(up)) AS nodes, [e IN reverse(relationships(up)) | e.port] AS ports
WITH tree, nodes, ports, [i IN range(1, size(nodes) - 1) | [nodes[i - 1], nodes[i]]] AS hops
WITH collect({tree: tree, nodes: nodes, ports: ports, hops: hops}) AS paths
UNWIND paths AS path
WITH path, [other IN paths WHERE other.tree <> path.tree] AS others
RETURN path.tree AS tree, size(path.hops) AS length, [v IN path.nodes | v.label] AS path,
  path.ports AS ports,
  [v IN path.nodes[1..-1] WHERE any(other IN others
    WHERE v IN other.nodes) | v.label] AS shared_nodes,
  [hop IN path.hops WHERE any(other IN others WHERE hop IN other.hops) | hop[0].label + '-'
    + hop[1].label] AS shared_links
ORDER BY tree
