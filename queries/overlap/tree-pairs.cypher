// title: Tree pairs by shared links
// question: How many directed links does each pair of trees of a forest share?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
// columns:
//   first: number of one tree
//   second: number of the other, the greater one
//   links: how many directed links both use; 0 for a pair that is edge-disjoint
// revision: 1
// reference: Fragopoulou & Akl (EDT), Def. 8 (edge-disjoint: every pair shares none)

MATCH (f:Forest {id: $forest})
CALL (f) {
  // The index is on topology and rank; it is used only where both are asked for.
  MATCH (sender:Node {topology: f.topology} WHERE sender.rank >= 0)-[e:TREE_EDGE {forest: f.id}]->(receiver:Node)
  WITH sender, receiver, collect(e.tree) AS trees
  WHERE size(trees) >= 2
  RETURN collect(trees) AS shared
}
UNWIND range(0, f.trees - 2) AS first
UNWIND range(first + 1, f.trees - 1) AS second
RETURN first, second, size([trees IN shared WHERE first IN trees AND second IN trees]) AS links
ORDER BY links DESC, first, second
