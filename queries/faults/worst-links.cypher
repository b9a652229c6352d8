// title: Links whose loss cuts off the most nodes
// question: Which single links cut off the most nodes if they are dead in both directions? A node
//     counts once for each tree that no longer reaches it.
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   limit (int >= 1, default 10): maximum number of links to list; if several links cut off the
//     same number of nodes, the links whose ends have the lowest ranks are listed
// columns:
//   lower (node): the end of the link that has the lower rank
//   port: port of the lower end that leads to the higher end
//   higher (node): the end of the link that has the higher rank
//   unreached: number of nodes that are cut off if the link is dead (the nodes below the link),
//     summed over all trees
//   unreached_by_tree: list with the number of nodes that are cut off in each tree, starting with
//     tree 0
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges
// revision: 3
// reference: Fragopoulou & Akl 1996, section 4.3; docs/definitions/edge-disjoint-trees.md, pitfall
//     5 (a link fault kills both directions)

MATCH (f:Forest {id: $forest})
CALL (f) {
  // Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
  MATCH (parent)-[e:TREE_EDGE WHERE e.forest = f.id AND e.tree >= 0]->(child)
  RETURN parent, e, child
}
WITH f, CASE WHEN parent.rank < child.rank THEN parent ELSE child END AS lower,
  CASE WHEN parent.rank < child.rank THEN child ELSE parent END AS higher,
  sum(e.subtree_nodes) AS cut, collect({tree: e.tree, cut: e.subtree_nodes}) AS parts
ORDER BY cut DESC, lower.rank, higher.rank
LIMIT $limit
MATCH (lower)-[l:LINK]->(higher)
RETURN lower.label AS lower, l.port AS port, higher.label AS higher, cut AS unreached,
  [tree IN range(0, f.trees - 1) | coalesce(head([part IN parts
    WHERE part.tree = tree | part.cut]), 0)] AS unreached_by_tree
ORDER BY unreached DESC, lower, higher
