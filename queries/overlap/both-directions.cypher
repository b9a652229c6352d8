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
MATCH (lower:Node {topology: f.topology})-[e:TREE_EDGE {forest: f.id}]->(higher:Node)
WHERE lower.rank < higher.rank
WITH f, lower, higher, e
ORDER BY e.tree
WITH f, lower, higher, e.port AS port, collect(e.tree) AS upward
WITH lower, port, higher, upward, COLLECT {
  MATCH (higher)-[back:TREE_EDGE {forest: f.id}]->(lower)
  RETURN back.tree ORDER BY back.tree
} AS downward
WHERE size(downward) >= 1
RETURN lower.label AS lower, port, higher.label AS higher, upward, downward
ORDER BY lower, port
