// title: Load histogram
// question: How many directed links of the topology are used by no tree of a forest, by one, by two, ...?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
// columns:
//   load: how many trees use a link from parent to child; 0 is always listed
//   links: how many directed links have that load
// cost: every edge of the forest once, at most trees x (nodes - 1)
// revision: 2
// reference: Tseng & Sheu 1997, Lemma 6; conventions: load of a directed link

// The index is on forest and tree; it is used only where both are asked for.
MATCH (sender:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(receiver:Node)
WITH sender, receiver, count(e) AS load
WITH load, count(*) AS links
WITH collect({load: load, links: links}) AS used
MATCH (:Forest {id: $forest})-[:ON]->(t:Topology)
// Every undirected link is two directed ones; what no tree uses has no TREE_EDGE to count.
WITH used, 2 * t.links - reduce(sum = 0, row IN used | sum + row.links) AS unused
UNWIND [{load: 0, links: unused}] + used AS row
RETURN row.load AS load, row.links AS links
ORDER BY load
