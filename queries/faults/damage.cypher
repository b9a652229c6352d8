// title: Effect of faults on each tree
// question: With given dead nodes and links, how many nodes does each tree of a forest still reach,
//     and how many does it no longer reach?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   dead_nodes (list of node, default []): labels of the dead nodes; if the root is dead, the trees
//     reach no node
//   dead_links (list of link, default []): the dead links, which transmit data in neither direction
// columns:
//   tree: number of the tree in the forest
//   reached: number of living nodes, other than the root, that the tree still reaches
//   unreached: number of living nodes of the tree that the tree no longer reaches
// cost: reads every tree edge at or below a fault and, for each of these edges, the edges of all
//     forests at the two ends of the edge. It also reads every edge of the forest once
// revision: 2
// reference: Fragopoulou & Akl 1996, section 4.3

MATCH (f:Forest {id: $forest})
CALL (f) {
  MATCH ()-[e:TREE_EDGE WHERE e.forest = f.id AND e.tree >= 0]->(member)
  // Dead nodes need not be reached.
  RETURN e.tree AS tree, count(CASE WHEN NOT member.label IN $dead_nodes
    THEN member END) AS members, 0 AS cut
  UNION ALL
  CALL (f) {
    UNWIND $dead_nodes AS dead
    MATCH (:Node {topology: f.topology, label: dead})-[broken:TREE_EDGE {forest: f.id}]->(below)
    RETURN broken.tree AS tree, below
    UNION
    UNWIND $dead_links AS link
    MATCH (:Node {topology: f.topology, label: split(link,
      '-')[0]})-[broken:TREE_EDGE {forest: f.id}]-(other)
    WHERE other.label = split(link, '-')[1]
    RETURN broken.tree AS tree, endNode(broken) AS below
  }
  MATCH (below)(()-[e:TREE_EDGE WHERE e.tree = tree AND e.forest = $forest]->())*(node)
  // Dead nodes need not be reached.
  WITH DISTINCT tree, node
  WHERE NOT node.label IN $dead_nodes
  RETURN tree, 0 AS members, count(*) AS cut
}
WITH tree, sum(members) AS members, sum(cut) AS cut
RETURN tree, members - cut AS reached, cut AS unreached
ORDER BY tree
