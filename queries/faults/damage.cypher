// title: What faults do to each tree
// question: How many nodes does each tree of a forest still reach, and how many not, when given nodes and links are dead?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   nodes (list of node, default []): labels of the dead nodes; a dead root leaves nobody
//   links (list of link, default []): the dead links, dead in both directions
// columns:
//   tree: number of the tree in the forest
//   reached: living nodes other than the root that it still reaches
//   cut: living nodes in the tree that it does not reach any more
// cost: every tree edge at and below the faults, and for each the edges of all forests at its ends,
//     and every edge of the forest once
// revision: 1
// reference: Fragopoulou & Akl 1996, section 4.3

MATCH (f:Forest {id: $forest})
CALL (f) {
  MATCH ()-[e:TREE_EDGE WHERE e.forest = f.id AND e.tree >= 0]->(member)
  // The dead are not owed anything.
  RETURN e.tree AS tree, count(CASE WHEN NOT member.label IN $nodes THEN member END) AS members, 0 AS cut
  UNION ALL
  CALL (f) {
    UNWIND $nodes AS dead
    MATCH (:Node {topology: f.topology, label: dead})-[broken:TREE_EDGE {forest: f.id}]->(below)
    RETURN broken.tree AS tree, below
    UNION
    UNWIND $links AS link
    MATCH (:Node {topology: f.topology, label: split(link, '-')[0]})-[broken:TREE_EDGE {forest: f.id}]-(other)
    WHERE other.label = split(link, '-')[1]
    RETURN broken.tree AS tree, endNode(broken) AS below
  }
  MATCH (below)(()-[e:TREE_EDGE WHERE e.tree = tree AND e.forest = $forest]->())*(node)
  // The dead are not owed anything.
  WITH DISTINCT tree, node
  WHERE NOT node.label IN $nodes
  RETURN tree, 0 AS members, count(*) AS cut
}
WITH tree, sum(members) AS members, sum(cut) AS cut
RETURN tree, members - cut AS reached, cut
ORDER BY tree
