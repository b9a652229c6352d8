// title: Trees by depth and load
// question: How deep is each tree of a forest, and how many trees use its most loaded link?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   tree: number of the tree in the forest; the trees are sorted by height, and trees of the same
//     height by largest_load
//   nodes: number of nodes of the tree, including the root
//   height: maximum level
//   largest_load: largest number of trees of the forest that use one of the tree's links in the
//     same direction; 1 if the tree shares no link
//   shared_links: number of links of the tree that other trees use in the same direction
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges
// revision: 1
// reference: Tseng & Sheu 1997, Lemma 6 (no link carries more than two of the n-1 trees)

// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH (parent:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(child:Node)
WITH parent, child, collect({tree: e.tree, level: e.level}) AS uses
UNWIND uses AS use
WITH use.tree AS tree, use.level AS level, size(uses) AS load
RETURN tree, count(*) + 1 AS nodes, max(level) AS height, max(load) AS largest_load,
  sum(CASE WHEN load > 1 THEN 1 ELSE 0 END) AS shared_links
ORDER BY height, largest_load, tree
