// title: Tree pairs by shared links
// question: How many directed links does each pair of trees of a forest share?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
// columns:
//   first: number of one tree
//   second: number of the other, the greater one
//   links: how many directed links both use; 0 for a pair that is edge-disjoint
// cost: every edge of the forest once, at most trees x (nodes - 1), and the pairs of trees on each link that several use
// revision: 2
// reference: Fragopoulou & Akl 1996, Def. 8 (edge-disjoint: every pair shares none)

// The index is on forest and tree; it is used only where both are asked for.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(receiver:Node)
WITH sender, receiver, collect(e.tree) AS trees
WHERE size(trees) >= 2
UNWIND trees AS first
UNWIND trees AS second
WITH first, second, count(*) AS links
WITH collect({first: first, second: second, links: links}) AS shared
// Pairs that share nothing are on no link.
MATCH (f:Forest {id: $forest})
UNWIND range(0, f.trees - 2) AS first
UNWIND range(first + 1, f.trees - 1) AS second
RETURN first, second,
  coalesce(head([pair IN shared WHERE pair.first = first AND pair.second = second | pair.links]), 0) AS links
ORDER BY links DESC, first, second
