// title: Heights
// question: How high is each tree of a forest, and which nodes are farthest from the root?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   tree: number of the tree in the forest
//   nodes: number of nodes of the tree, including the root
//   height: maximum level
//   deepest_nodes: number of nodes on that level
//   lowest_node (node): node of lowest rank on that level
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges
// revision: 3
// reference: Tseng & Sheu 1997, Lemma 5 (the n-1 trees); docs/definitions/conventions.md, height

// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH ()-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(child:Node)
WITH e.tree AS tree, e.level AS level, count(e) AS nodes,
  min([child.rank, child.label])[1] AS first
ORDER BY level DESC
WITH tree, sum(nodes) + 1 AS nodes, head(collect({level: level, nodes: nodes,
  first: first})) AS last
RETURN tree, nodes, last.level AS height, last.nodes AS deepest_nodes, last.first AS lowest_node
ORDER BY tree
