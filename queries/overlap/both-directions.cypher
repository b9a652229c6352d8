// title: Links used in both directions
// question: Which links do trees of a forest use in both directions? (Opposite directions are not
//     an overlap: each has its own capacity.)
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   lower (node): the end of the link that has the lower rank
//   port: port of the lower end that leads to the higher end
//   higher (node): the end of the link that has the higher rank
//   upward_trees: numbers of the trees that use the link from the lower end to the higher one
//   downward_trees: numbers of the trees that use the link in the opposite direction
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges
// revision: 3
// reference: docs/definitions/conventions.md, opposite directions are not an overlap

// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(receiver:Node)
WITH sender.rank < receiver.rank AS up, sender, receiver, e
ORDER BY e.tree
WITH CASE WHEN up THEN sender ELSE receiver END AS lower,
  CASE WHEN up THEN receiver ELSE sender END AS higher,
  collect(CASE WHEN up THEN e.port END) AS ports,
  collect(CASE WHEN up THEN e.tree END) AS upward,
  collect(CASE WHEN NOT up THEN e.tree END) AS downward
WHERE size(upward) >= 1 AND size(downward) >= 1
RETURN lower.label AS lower, head(ports) AS port, higher.label AS higher, upward AS upward_trees,
  downward AS downward_trees
ORDER BY lower, port
