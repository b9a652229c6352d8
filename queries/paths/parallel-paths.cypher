// title: Parallel paths to a node
// question: By which paths, one in each tree of a forest, does a node hear from the root, and how long are they?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   node (node): label of the node where the paths end
// columns:
//   tree: number of the tree in the forest
//   length: links on the path, which is the node's level in that tree
//   nodes: labels of the nodes on the path, from the root
//   ports: port that each hop leaves by
// revision: 1
// reference: Tseng & Sheu 1997, Def. 2; Fragopoulou & Akl (EDT), Def. 8

MATCH (f:Forest {id: $forest})
MATCH (node:Node {topology: f.topology, label: $node})
UNWIND range(0, f.trees - 1) AS tree
MATCH up = (node)(()<-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree = tree]-())*(root)
WHERE NOT EXISTS { (root)<-[:TREE_EDGE {forest: $forest, tree: tree}]-() }
RETURN tree, length(up) AS length, [v IN reverse(nodes(up)) | v.label] AS nodes,
  [e IN reverse(relationships(up)) | e.port] AS ports
ORDER BY tree
