// title: Links used in both directions
// question: Which links do trees of a forest use in both directions? (That is no overlap: each direction has its own capacity.)
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
// columns:
//   lower (node): end of the lower rank
//   port: port of that end
//   higher (node): the other end
//   upward: trees that use the link from the lower end to the higher
//   downward: trees that use it the other way
// cost: every edge of the forest once, at most trees x (nodes - 1)
// revision: 2
// reference: conventions: opposite directions are not an overlap

// The index is on forest and tree; it is used only where both are asked for.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(receiver:Node)
WITH sender.rank < receiver.rank AS up, sender, receiver, e
ORDER BY e.tree
WITH CASE WHEN up THEN sender ELSE receiver END AS lower, CASE WHEN up THEN receiver ELSE sender END AS higher,
  collect(CASE WHEN up THEN e.port END) AS ports,
  collect(CASE WHEN up THEN e.tree END) AS upward,
  collect(CASE WHEN NOT up THEN e.tree END) AS downward
WHERE size(upward) >= 1 AND size(downward) >= 1
RETURN lower.label AS lower, head(ports) AS port, higher.label AS higher, upward, downward
ORDER BY lower, port
