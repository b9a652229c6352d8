// title: Load histogram
// question: How many directed links of the topology are used by no tree of a forest, by one tree,
//     by two trees, ...?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   load: number of trees that use a directed link from parent to child; there is always a row for
//     load 0
//   links: number of directed links with that load
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges
// revision: 2
// reference: Tseng & Sheu 1997, Lemma 6; docs/definitions/conventions.md, load of a directed link

// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(receiver:Node)
WITH sender, receiver, count(e) AS load
WITH load, count(*) AS links
WITH collect({load: load, links: links}) AS used
MATCH (:Forest {id: $forest})-[:ON]->(t:Topology)
// Directed links that no tree uses have no TREE_EDGE, so they are counted as the rest of all
// directed links, two per link.
WITH used, 2 * t.links - reduce(sum = 0, row IN used | sum + row.links) AS unused
UNWIND [{load: 0, links: unused}] + used AS row
RETURN row.load AS load, row.links AS links
ORDER BY load
