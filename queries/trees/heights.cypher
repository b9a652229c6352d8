// title: Heights
// question: How high is each tree of a forest, and which nodes are farthest from the root?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
// columns:
//   tree: number of the tree in the forest
//   nodes: nodes in the tree, the root among them
//   height: the greatest level
//   deepest: how many nodes are on that level
//   first (node): the one of the lowest rank
// cost: every edge of the forest once, at most trees x (nodes - 1)
// revision: 1
// reference: Tseng & Sheu 1997, Lemma 5 (the n-1 trees); conventions: height

// The index is on forest and tree; it is used only where both are asked for.
MATCH ()-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(child:Node)
WITH e.tree AS tree, e.level AS level, count(e) AS nodes, min(child.label) AS first
ORDER BY level DESC
WITH tree, sum(nodes) + 1 AS nodes, head(collect({level: level, nodes: nodes, first: first})) AS last
RETURN tree, nodes, last.level AS height, last.nodes AS deepest, last.first AS first
ORDER BY tree
