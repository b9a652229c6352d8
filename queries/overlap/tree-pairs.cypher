// title: Links shared by pairs of trees
// question: How many directed links does each pair of trees of a forest share?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   first_tree: number of the first tree of the pair
//   second_tree: number of the second tree of the pair, larger than that of the first
//   links: number of directed links that both trees use; 0 if the pair is edge-disjoint
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges. For each link that
//     several trees share, it also counts every pair of these trees
// revision: 3
// reference: Fragopoulou & Akl 1996, Def. 8 (trees are edge-disjoint if no pair shares a link)

// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(receiver:Node)
WITH sender, receiver, collect(e.tree) AS trees
WHERE size(trees) >= 2
UNWIND trees AS first
UNWIND trees AS second
WITH first, second, count(*) AS links
WITH collect({first: first, second: second, links: links}) AS shared
// `shared` lacks the pairs of trees that share no link, so the query goes through all pairs.
MATCH (f:Forest {id: $forest})
UNWIND range(0, f.trees - 2) AS first
UNWIND range(first + 1, f.trees - 1) AS second
RETURN first AS first_tree, second AS second_tree,
  coalesce(head([pair IN shared WHERE pair.first = first AND pair.second = second | pair.links]),
    0) AS links
ORDER BY links DESC, first_tree, second_tree
