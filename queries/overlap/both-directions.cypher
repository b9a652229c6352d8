// title: Links used in both directions
// question: Which links do trees of a forest use in both directions? (That is no overlap: each direction has its own capacity.)
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
// columns:
//   lower: end of the lower rank
//   port: port of that end
//   higher: the other end
//   upward: trees that use the link from the lower end to the higher
//   downward: trees that use it the other way
// revision: 1
// reference: conventions: opposite directions are not an overlap

MATCH (f:Forest {id: $forest})
// The index is on topology and rank; it is used only where both are asked for.
MATCH (sender:Node {topology: f.topology} WHERE sender.rank >= 0)-[e:TREE_EDGE {forest: f.id}]->(receiver:Node)
WITH sender.rank < receiver.rank AS up, sender, receiver, e
ORDER BY e.tree
WITH CASE WHEN up THEN sender ELSE receiver END AS lower, CASE WHEN up THEN receiver ELSE sender END AS higher,
  collect(CASE WHEN up THEN e.port END) AS ports,
  collect(CASE WHEN up THEN e.tree END) AS upward,
  collect(CASE WHEN NOT up THEN e.tree END) AS downward
WHERE size(upward) >= 1 AND size(downward) >= 1
RETURN lower.label AS lower, head(ports) AS port, higher.label AS higher, upward, downward
ORDER BY lower, port
