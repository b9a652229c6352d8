// The questions of the query packs in the Cypher of Ladybug. Each statement has the parameters and
// columns of the statement of the same name for Neo4j. A node has a single key, made of topology
// and label; parameters that name nodes contain this key. A path has at most 30 links.
//
// Two kinds of questions are omitted. Questions that follow all trees of a forest at once are not
// possible, because the condition on the hops of a path cannot refer to other variables. For
// questions about distances from a node that is not a parameter, Ladybug would search from all
// nodes.

// query: schema
CREATE NODE TABLE Topology (spec STRING PRIMARY KEY, links INT64, reverse_ports INT64[]);
CREATE NODE TABLE Forest (id STRING PRIMARY KEY, topology STRING, root INT64, trees INT64);
CREATE NODE TABLE Schedule (id STRING PRIMARY KEY, topology STRING, steps INT64);
CREATE NODE TABLE Node (key STRING PRIMARY KEY, topology STRING, rank INT64, label STRING);
CREATE REL TABLE LINK (FROM Node TO Node, port INT64);
CREATE REL TABLE TREE_EDGE (
  FROM Node TO Node, forest STRING, tree INT64, level INT64, port INT64, subtree_nodes INT64
);
CREATE REL TABLE SEND (
  FROM Node TO Node, schedule STRING, step INT64, tree INT64, port INT64, unit INT64, combine INT64
);

// query: faults/worst-links
MATCH (a:Node)-[e:TREE_EDGE]->(b:Node) WHERE e.forest = $forest
WITH CASE WHEN a.rank < b.rank THEN a.key ELSE b.key END AS low,
  CASE WHEN a.rank < b.rank THEN b.key ELSE a.key END AS high, CAST(sum(e.subtree_nodes) AS INT64) AS cut,
  map(collect(e.tree), collect(e.subtree_nodes)) AS by_tree
ORDER BY cut DESC, low, high LIMIT $limit
MATCH (a:Node {key: low})-[l:LINK]->(b:Node {key: high}), (f:Forest {id: $forest})
RETURN a.label AS lower, l.port AS port, b.label AS higher, cut AS unreached,
  list_transform(range(0, f.trees - 1), t -> coalesce(list_sum(map_extract(by_tree, t)), 0)) AS unreached_by_tree
ORDER BY unreached DESC, lower, higher

// query: faults/worst-nodes
MATCH ()-[e:TREE_EDGE]->(v:Node) WHERE e.forest = $forest
WITH v, CAST(sum(e.subtree_nodes - 1) AS INT64) AS cut,
  map(collect(e.tree), collect(e.subtree_nodes - 1)) AS by_tree
ORDER BY cut DESC, v.rank LIMIT $limit
MATCH (f:Forest {id: $forest})
RETURN v.label AS node, cut AS unreached,
  list_transform(range(0, f.trees - 1), t -> coalesce(list_sum(map_extract(by_tree, t)), 0)) AS unreached_by_tree
ORDER BY unreached DESC, node

// query: overlap/both-directions
MATCH (a:Node)-[e:TREE_EDGE]->(b:Node) WHERE e.forest = $forest AND a.rank < b.rank
WITH a, b, e.port AS port, list_sort(collect(e.tree)) AS upward
MATCH (b)-[d:TREE_EDGE]->(a) WHERE d.forest = $forest
WITH a, b, port, upward, list_sort(collect(d.tree)) AS downward
RETURN a.label AS lower, port, b.label AS higher, upward AS upward_trees,
  downward AS downward_trees
ORDER BY lower, port

// query: overlap/load-histogram
MATCH (a:Node)-[e:TREE_EDGE]->(b:Node) WHERE e.forest = $forest
WITH a, b, count(*) AS load
WITH load, count(*) AS links
RETURN load, links
UNION ALL
MATCH (a:Node)-[e:TREE_EDGE]->(b:Node) WHERE e.forest = $forest
WITH count(DISTINCT concat(a.key, '-', b.key)) AS used
MATCH (f:Forest {id: $forest}), (t:Topology) WHERE t.spec = f.topology
RETURN 0 AS load, 2 * t.links - used AS links

// query: overlap/most-loaded-links
MATCH (a:Node)-[e:TREE_EDGE]->(b:Node) WHERE e.forest = $forest
WITH a, b, e.port AS port, list_sort(collect(e.tree)) AS trees
RETURN a.label AS sender, port, b.label AS receiver, size(trees) AS load, trees AS tree_numbers
ORDER BY load DESC, sender, port LIMIT $limit

// query: overlap/packet-sizes
MATCH (a:Node)-[e:SEND]->(b:Node) WHERE e.schedule = $schedule
WITH e.step AS moment, a, b, count(*) AS units
RETURN CASE WHEN $by_step THEN moment ELSE NULL END AS step, units, count(*) AS packets
ORDER BY step, units

// query: overlap/shared-links
MATCH (a:Node)-[e:TREE_EDGE]->(b:Node) WHERE e.forest = $forest
WITH a, b, e.port AS port, list_sort(collect(e.tree)) AS trees
WHERE size(trees) >= $min_load
RETURN a.label AS sender, port, b.label AS receiver, size(trees) AS load, trees AS tree_numbers
ORDER BY load DESC, sender, port

// query: overlap/two-forests
MATCH (a:Node)-[e:TREE_EDGE]->(b:Node) WHERE e.forest = $forest
WITH a, b, e.port AS port, list_sort(collect(e.tree)) AS trees
MATCH (a)-[o:TREE_EDGE]->(b) WHERE o.forest = $other_forest
WITH a, b, port, trees, list_sort(collect(o.tree)) AS others
RETURN a.label AS sender, port, b.label AS receiver, trees AS tree_numbers,
  others AS other_tree_numbers
ORDER BY sender, port

// query: paths/next-hops
MATCH (t:Topology {spec: $topology}), (source:Node {key: $source})-[l:LINK]-(hop:Node)
MATCH (target:Node {key: $target})
WHERE source.key <> target.key
OPTIONAL MATCH (hop)-[e:LINK* SHORTEST 1..30]-(target)
WITH CASE WHEN source.rank < hop.rank THEN l.port ELSE t.reverse_ports[l.port + 1] END AS port,
  hop.label AS next_node, coalesce(length(e), 0) AS distance
WITH collect({port: port, next_node: next_node, distance: distance}) AS hops,
  min(distance) AS least
UNWIND hops AS hop
WITH hop, least WHERE hop.distance = least
RETURN hop.port AS port, hop.next_node AS next_node, hop.distance AS distance ORDER BY port

// query: paths/number-of-shortest-paths
MATCH (source:Node {key: $source})-[l:LINK* ALL SHORTEST 1..30]-(target:Node {key: $target})
RETURN length(l) AS length, count(*) AS paths

// query: paths/shortest-path
MATCH (t:Topology {spec: $topology})
MATCH path = (source:Node {key: $source})-[l:LINK* SHORTEST 1..30]-(target:Node {key: $target})
WITH t, length(l) AS length, properties(nodes(path), 'label') AS labels,
  properties(nodes(path), 'rank') AS ranks, properties(rels(path), 'port') AS stored
RETURN length, labels AS path, list_transform(range(1, length), i -> CASE
  WHEN ranks[i] < ranks[i + 1] THEN stored[i] ELSE t.reverse_ports[stored[i] + 1] END) AS ports

// query: paths/shortest-paths
MATCH (t:Topology {spec: $topology})
MATCH path = (source:Node {key: $source})-[l:LINK* ALL SHORTEST 1..30]-(target:Node {key: $target})
WITH t, length(l) AS length, properties(nodes(path), 'label') AS labels,
  properties(nodes(path), 'rank') AS ranks, properties(rels(path), 'port') AS stored
RETURN length, labels AS path, list_transform(range(1, length), i -> CASE
  WHEN ranks[i] < ranks[i + 1] THEN stored[i] ELSE t.reverse_ports[stored[i] + 1] END) AS ports

// query: paths/tree-path
MATCH (f:Forest {id: $forest}), (t:Topology) WHERE t.spec = f.topology
MATCH up = (:Node {key: $source})<-[u:TREE_EDGE* 0..30
  (r, n | WHERE r.forest = $forest AND r.tree = $tree)]-(v:Node)
MATCH down = (:Node {key: $target})<-[d:TREE_EDGE* 0..30
  (r, n | WHERE r.forest = $forest AND r.tree = $tree)]-(v)
WITH t, length(u) + length(d) AS length, length(u) AS climbed,
  properties(nodes(up), 'label') AS up_labels, properties(nodes(down), 'label') AS down_labels,
  properties(rels(u), 'port') AS up_ports, properties(rels(d), 'port') AS down_ports
ORDER BY length LIMIT 1
RETURN length, climbed AS upward_links,
  list_concat(up_labels, list_reverse(down_labels)[2:]) AS path,
  list_concat(list_transform(up_ports, p -> t.reverse_ports[p + 1]), list_reverse(down_ports))
    AS ports

// query: schedules/activity
MATCH (s:Schedule {id: $schedule}), (node:Node {key: $node})-[e:SEND]->(partner:Node)
WHERE e.schedule = s.id
RETURN e.step AS step, 'sends' AS action, e.port AS port, partner.label AS partner, e.unit AS unit,
  e.tree AS tree, e.combine = 1 AS combine
UNION ALL
MATCH (s:Schedule {id: $schedule}), (t:Topology), (node:Node {key: $node})<-[e:SEND]-(partner:Node)
WHERE e.schedule = s.id AND t.spec = s.topology
RETURN e.step AS step, 'receives' AS action, t.reverse_ports[e.port + 1] AS port,
  partner.label AS partner, e.unit AS unit, e.tree AS tree, e.combine = 1 AS combine

// query: schedules/deliveries
MATCH (:Node {key: $node})<-[e:SEND]-(a:Node) WHERE e.schedule = $schedule
RETURN e.step AS step, e.unit AS unit, a.label AS sender, e.port AS port, e.tree AS tree,
  e.combine = 1 AS combine
ORDER BY step, unit, tree, sender

// query: schedules/idle-links
MATCH (s:Schedule {id: $schedule}), (t:Topology) WHERE t.spec = s.topology
MATCH (a:Node)-[l:LINK]-(b:Node) WHERE a.topology = t.spec
  AND NOT EXISTS { MATCH (a)-[e:SEND]->(b) WHERE e.schedule = $schedule AND e.step = $step }
RETURN a.label AS sender,
  CASE WHEN a.rank < b.rank THEN l.port ELSE t.reverse_ports[l.port + 1] END AS port,
  b.label AS receiver
ORDER BY sender, port

// query: schedules/sends
MATCH (a:Node)-[e:SEND]->(b:Node) WHERE e.schedule = $schedule AND e.step = $step
RETURN a.label AS sender, e.port AS port, b.label AS receiver, e.unit AS unit, e.tree AS tree,
  e.combine = 1 AS combine
ORDER BY sender, port, unit, tree

// query: schedules/steps
MATCH (a:Node)-[e:SEND]->() WHERE e.schedule = $schedule
WITH e.step AS step, a.rank AS sender, e.port AS port, count(*) AS units
WITH step, count(*) AS links_used, CAST(sum(units) AS INT64) AS units, max(units) AS largest_packet
MATCH (s:Schedule {id: $schedule}), (t:Topology) WHERE t.spec = s.topology
RETURN step, links_used, 2 * t.links - links_used AS idle_links, units, largest_packet
UNION ALL
MATCH (s:Schedule {id: $schedule}), (t:Topology) WHERE t.spec = s.topology
UNWIND range(1, s.steps) AS step
WITH step, t.links AS links
WHERE NOT EXISTS { MATCH ()-[e:SEND]->() WHERE e.schedule = $schedule AND e.step = step }
RETURN step, 0 AS links_used, 2 * links AS idle_links, 0 AS units, 0 AS largest_packet

// query: topology/adjacency
MATCH (t:Topology {spec: $topology}), (a:Node {key: $source}), (b:Node {key: $target})
OPTIONAL MATCH (a)-[l:LINK]-(b)
RETURN l.port IS NOT NULL AS adjacent,
  CASE WHEN a.rank < b.rank THEN l.port ELSE t.reverse_ports[l.port + 1] END AS port,
  CASE WHEN a.rank < b.rank THEN t.reverse_ports[l.port + 1] ELSE l.port END AS reverse_port

// query: topology/degrees
MATCH (a:Node)-[l:LINK]-() WHERE a.topology = $topology
WITH a, count(*) AS degree
WITH degree, count(*) AS nodes, min(a.rank) AS lowest
MATCH (a:Node) WHERE a.topology = $topology AND a.rank = lowest
RETURN degree, nodes, a.label AS lowest_node ORDER BY degree

// query: topology/distance-profile
MATCH (node:Node {key: $node})-[l:LINK* SHORTEST 1..30]-(other:Node)
WHERE other.key <> node.key
RETURN length(l) AS distance, count(*) AS nodes
UNION ALL
MATCH (node:Node {key: $node}) RETURN 0 AS distance, 1 AS nodes

// query: topology/neighbours
MATCH (t:Topology {spec: $topology}), (node:Node {key: $node})-[l:LINK]-(neighbour:Node)
RETURN CASE WHEN node.rank < neighbour.rank THEN l.port ELSE t.reverse_ports[l.port + 1] END
  AS port, neighbour.label AS neighbour
ORDER BY port

// query: topology/nodes-at-distance
MATCH (node:Node {key: $node})-[l:LINK* SHORTEST 1..30]-(other:Node)
WHERE other.key <> node.key AND length(l) = $distance
RETURN other.rank AS rank, other.label AS node ORDER BY rank

// query: topology/substar
MATCH (node:Node) WHERE node.topology = $topology AND node.label =~ replace($pattern, '*', '.')
RETURN node.rank AS rank, node.label AS node ORDER BY rank

// query: trees/changed-parents
MATCH (f:Forest {id: $forest}), (g:Forest {id: $other_forest})
WITH CASE WHEN f.trees < g.trees THEN f.trees ELSE g.trees END AS trees
MATCH (a:Node)-[e:TREE_EDGE]->(v:Node)
WHERE (e.forest = $forest OR e.forest = $other_forest) AND e.tree < trees
WITH e.tree AS tree, v, max(CASE WHEN e.forest = $forest THEN a.label ELSE NULL END) AS parent,
  max(CASE WHEN e.forest = $other_forest THEN a.label ELSE NULL END) AS other_parent
WHERE parent IS NULL OR other_parent IS NULL OR parent <> other_parent
RETURN tree, v.label AS node, parent, other_parent ORDER BY tree, node

// query: trees/fan-out
MATCH (a:Node)-[e:TREE_EDGE]->(b:Node) WHERE e.forest = $forest
UNWIND [{rank: a.rank, more: 1}, {rank: b.rank, more: 0}] AS item
WITH e.tree AS tree, item.rank AS node, CAST(sum(item.more) AS INT64) AS children
WITH tree, children, count(*) AS nodes, min(node) AS lowest
MATCH (f:Forest {id: $forest}), (n:Node) WHERE n.topology = f.topology AND n.rank = lowest
RETURN tree, children, nodes, n.label AS lowest_node ORDER BY tree, children

// query: trees/heights
MATCH ()-[e:TREE_EDGE]->() WHERE e.forest = $forest
WITH e.tree AS tree, count(*) + 1 AS nodes, max(e.level) AS height
MATCH ()-[d:TREE_EDGE]->(child:Node)
WHERE d.forest = $forest AND d.tree = tree AND d.level = height
WITH tree, nodes, height, count(*) AS deepest_nodes, min(child.rank) AS lowest
MATCH (f:Forest {id: $forest}), (n:Node) WHERE n.topology = f.topology AND n.rank = lowest
RETURN tree, nodes, height, deepest_nodes, n.label AS lowest_node ORDER BY tree

// query: trees/leaf-count
MATCH (a:Node)-[e:TREE_EDGE]->() WHERE e.forest = $forest
WITH e.tree AS tree, count(*) + 1 AS nodes, count(DISTINCT a.rank) AS inner_nodes
RETURN tree, nodes, nodes - inner_nodes AS leaves ORDER BY tree

// query: trees/leaves
MATCH (a:Node)-[e:TREE_EDGE]->(v:Node)
WHERE e.forest = $forest AND e.tree = $tree
  AND NOT EXISTS { MATCH (v)-[b:TREE_EDGE]->() WHERE b.forest = $forest AND b.tree = $tree }
RETURN a.label AS parent, e.port AS port, v.label AS leaf, e.level AS level ORDER BY leaf

// query: trees/level-profile
MATCH ()-[e:TREE_EDGE]->() WHERE e.forest = $forest
RETURN e.tree AS tree, e.level AS level, count(*) AS nodes
UNION ALL
MATCH (f:Forest {id: $forest})
UNWIND range(0, f.trees - 1) AS tree
RETURN tree, 0 AS level, 1 AS nodes

// query: trees/root-subtrees
MATCH (f:Forest {id: $forest}), (root:Node)
WHERE root.topology = f.topology AND root.rank = f.root
MATCH (root)-[e:TREE_EDGE]->(child:Node) WHERE e.forest = $forest
RETURN e.tree AS tree, e.port AS port, child.label AS child, e.subtree_nodes AS subtree_nodes
ORDER BY tree, port

