-- The questions of the query packs in SQL, for DuckDB. Each statement has the parameters and
-- columns of the Cypher statement of the same name. Nodes are rows, and the other tables refer to
-- nodes by rank. The view `ports` has both directions of every link; the table `links` stores only
-- the port at the end of lower rank.

-- query: schema
CREATE TABLE topologies (spec TEXT PRIMARY KEY, links BIGINT, reverse_ports BIGINT[]);
CREATE TABLE forests (id TEXT PRIMARY KEY, topology TEXT, root BIGINT, trees BIGINT);
CREATE TABLE schedules (id TEXT PRIMARY KEY, topology TEXT, steps BIGINT);
CREATE TABLE nodes (topology TEXT, rank BIGINT, label TEXT);
CREATE TABLE links (topology TEXT, lower BIGINT, higher BIGINT, port BIGINT);
CREATE TABLE tree_edges (
  forest TEXT, parent BIGINT, child BIGINT, tree BIGINT, level BIGINT, port BIGINT,
  subtree_nodes BIGINT
);
CREATE TABLE sends (
  schedule TEXT, sender BIGINT, receiver BIGINT, step BIGINT, tree BIGINT, port BIGINT, unit BIGINT,
  combine BIGINT
);
CREATE VIEW ports AS
  SELECT topology, lower AS node, port, higher AS neighbour FROM links
  UNION ALL
  SELECT topology, higher, reverse_ports[port + 1], lower
  FROM links JOIN topologies ON spec = topology;
CREATE MACRO nodes_of(artifact) AS TABLE
  SELECT rank, label FROM nodes WHERE topology = (
    SELECT topology FROM forests WHERE id = artifact
    UNION ALL SELECT topology FROM schedules WHERE id = artifact
  );
CREATE MACRO loads(forest_id) AS TABLE
  SELECT parent, child, any_value(port) AS port, list(tree ORDER BY tree) AS trees
  FROM tree_edges WHERE forest = forest_id GROUP BY parent, child;
CREATE MACRO distances(topology_spec, start) AS TABLE
  WITH RECURSIVE reached(node, distance) USING KEY (node) AS (
    SELECT start::BIGINT, 0::BIGINT
    UNION
    SELECT DISTINCT p.neighbour, reached.distance + 1
    FROM reached JOIN ports p ON p.node = reached.node
    WHERE p.topology = topology_spec
      AND NOT EXISTS (SELECT 1 FROM recurring.reached seen WHERE seen.node = p.neighbour)
  )
  SELECT node, distance FROM reached;
CREATE MACRO rank_of(topology_spec, name) AS (
  SELECT rank FROM nodes WHERE topology = topology_spec AND label = name
);
-- The nodes at and below dead nodes and links, once per tree; without the dead nodes themselves.
CREATE MACRO cut_nodes(forest_id, dead_nodes, dead_links) AS TABLE
  WITH RECURSIVE cut(tree, node) AS (
    SELECT tree, child
    FROM tree_edges
    JOIN nodes_of(forest_id) a ON a.rank = parent
    JOIN nodes_of(forest_id) b ON b.rank = child
    WHERE forest = forest_id AND (
      list_contains(dead_nodes, a.label)
      OR list_contains(dead_links, a.label || '-' || b.label)
      OR list_contains(dead_links, b.label || '-' || a.label)
    )
    UNION
    SELECT e.tree, e.child
    FROM cut JOIN tree_edges e ON e.tree = cut.tree AND e.parent = cut.node
    WHERE e.forest = forest_id
  )
  SELECT tree, node, label FROM cut JOIN nodes_of(forest_id) ON rank = node
  WHERE NOT list_contains(dead_nodes, label);

-- query: faults/cut-off
SELECT e.tree, e.level, p.label AS parent, c.label AS node
FROM cut_nodes($forest, $dead_nodes, $dead_links) c
JOIN tree_edges e ON e.tree = c.tree AND e.child = c.node
JOIN nodes_of($forest) p ON p.rank = e.parent
WHERE e.forest = $forest
ORDER BY e.tree, e.level, c.label

-- query: faults/damage
WITH members AS (
  SELECT tree, count(*) FILTER (NOT list_contains($dead_nodes, label)) AS members
  FROM tree_edges JOIN nodes_of($forest) ON rank = child
  WHERE forest = $forest GROUP BY tree
), cut AS (
  SELECT tree, count(*) AS cut FROM cut_nodes($forest, $dead_nodes, $dead_links) GROUP BY tree
)
SELECT tree, members - coalesce(cut, 0) AS reached, coalesce(cut, 0) AS unreached
FROM members LEFT JOIN cut USING (tree) ORDER BY tree

-- query: faults/fewer-trees
WITH cut AS (
  SELECT node, any_value(label) AS label, list(tree ORDER BY tree) AS failing
  FROM cut_nodes($forest, $dead_nodes, $dead_links) GROUP BY node
)
SELECT label AS node, count(tree) AS trees_left,
  coalesce(list(tree ORDER BY tree) FILTER (tree IS NOT NULL), []) AS reaching_trees,
  any_value(failing) AS failing_trees
FROM cut LEFT JOIN tree_edges
  ON child = node AND forest = $forest AND NOT list_contains(failing, tree)
GROUP BY node, label
HAVING count(tree) < $required_trees
ORDER BY trees_left, label

-- query: faults/unreached-nodes
WITH cut AS (
  SELECT node, label, count(*) AS cut
  FROM cut_nodes($forest, $dead_nodes, $dead_links) GROUP BY node, label
), all_trees AS (
  SELECT child, count(*) AS trees FROM tree_edges WHERE forest = $forest GROUP BY child
)
SELECT label AS node, trees FROM cut JOIN all_trees ON child = node WHERE cut = trees ORDER BY label

-- query: faults/worst-links
WITH parts AS (
  SELECT least(parent, child) AS lower, greatest(parent, child) AS higher, tree,
    sum(subtree_nodes) AS cut
  FROM tree_edges WHERE forest = $forest GROUP BY ALL
), worst AS (
  SELECT lower, higher, sum(cut) AS unreached, map_from_entries(list((tree, cut))) AS by_tree
  FROM parts GROUP BY lower, higher ORDER BY unreached DESC, lower, higher LIMIT $limit
)
SELECT a.label AS lower, port, b.label AS higher, unreached,
  [coalesce(by_tree[t], 0) for t in range(f.trees)] AS unreached_by_tree
FROM worst w JOIN forests f ON f.id = $forest
JOIN links l ON l.topology = f.topology AND l.lower = w.lower AND l.higher = w.higher
JOIN nodes_of($forest) a ON a.rank = w.lower JOIN nodes_of($forest) b ON b.rank = w.higher
ORDER BY unreached DESC, a.label, b.label

-- query: faults/worst-nodes
WITH worst AS (
  SELECT child, sum(subtree_nodes - 1) AS unreached,
    map_from_entries(list((tree, subtree_nodes - 1))) AS by_tree
  FROM tree_edges WHERE forest = $forest GROUP BY child ORDER BY unreached DESC, child LIMIT $limit
)
SELECT label AS node, unreached,
  [coalesce(by_tree[t], 0) for t in range(trees)] AS unreached_by_tree
FROM worst JOIN forests ON id = $forest JOIN nodes_of($forest) ON rank = child
ORDER BY unreached DESC, label

-- query: overlap/both-directions
WITH directions AS (
  SELECT least(parent, child) AS low, greatest(parent, child) AS high,
    max(port) FILTER (parent < child) AS port,
    list(tree ORDER BY tree) FILTER (parent < child) AS upward_trees,
    list(tree ORDER BY tree) FILTER (parent > child) AS downward_trees
  FROM tree_edges WHERE forest = $forest GROUP BY low, high
)
SELECT a.label AS lower, port, b.label AS higher, upward_trees, downward_trees
FROM directions
JOIN nodes_of($forest) a ON a.rank = low JOIN nodes_of($forest) b ON b.rank = high
WHERE upward_trees IS NOT NULL AND downward_trees IS NOT NULL
ORDER BY a.label, port

-- query: overlap/load-histogram
WITH used AS (SELECT len(trees) AS load, count(*) AS links FROM loads($forest) GROUP BY load)
SELECT 0 AS load, 2 * links - (SELECT coalesce(sum(links), 0) FROM used) AS links
FROM topologies JOIN forests ON spec = topology WHERE id = $forest
UNION ALL
SELECT load, links FROM used ORDER BY load

-- query: overlap/most-loaded-links
SELECT a.label AS sender, port, b.label AS receiver, len(trees) AS load, trees AS tree_numbers
FROM loads($forest)
JOIN nodes_of($forest) a ON a.rank = parent JOIN nodes_of($forest) b ON b.rank = child
ORDER BY load DESC, a.label, port LIMIT $limit

-- query: overlap/packet-sizes
WITH packets AS (
  SELECT step, count(*) AS units FROM sends WHERE schedule = $schedule GROUP BY step, sender, receiver
)
SELECT CASE WHEN $by_step THEN step END AS step, units, count(*) AS packets
FROM packets GROUP BY 1, 2 ORDER BY 1, 2

-- query: overlap/shared-links
SELECT a.label AS sender, port, b.label AS receiver, len(trees) AS load, trees AS tree_numbers
FROM loads($forest)
JOIN nodes_of($forest) a ON a.rank = parent JOIN nodes_of($forest) b ON b.rank = child
WHERE len(trees) >= $min_load
ORDER BY load DESC, a.label, port

-- query: overlap/simultaneous-sends
WITH packets AS (
  SELECT step, sender, receiver, any_value(port) AS port,
    list(tree ORDER BY tree, unit) AS trees, list(unit ORDER BY tree, unit) AS units
  FROM sends WHERE schedule = $schedule GROUP BY step, sender, receiver
  HAVING count(*) >= $min_units
)
SELECT step, a.label AS sender, port, b.label AS receiver, len(units) AS units,
  trees AS tree_numbers, units AS unit_numbers
FROM packets
JOIN nodes_of($schedule) a ON a.rank = sender JOIN nodes_of($schedule) b ON b.rank = receiver
ORDER BY step, a.label, port

-- query: overlap/tree-pairs
WITH shared AS (
  SELECT a.tree AS first_tree, b.tree AS second_tree, count(*) AS links
  FROM tree_edges a JOIN tree_edges b
    ON a.parent = b.parent AND a.child = b.child AND a.tree < b.tree
  WHERE a.forest = $forest AND b.forest = $forest GROUP BY a.tree, b.tree
), all_trees AS (SELECT unnest(range(trees)) AS tree FROM forests WHERE id = $forest)
SELECT a.tree AS first_tree, b.tree AS second_tree, coalesce(links, 0) AS links
FROM all_trees a JOIN all_trees b ON a.tree < b.tree
LEFT JOIN shared ON first_tree = a.tree AND second_tree = b.tree
ORDER BY links DESC, a.tree, b.tree

-- query: overlap/two-forests
SELECT a.label AS sender, f.port, b.label AS receiver, f.trees AS tree_numbers,
  g.trees AS other_tree_numbers
FROM loads($forest) f JOIN loads($other_forest) g ON g.parent = f.parent AND g.child = f.child
JOIN nodes_of($forest) a ON a.rank = f.parent JOIN nodes_of($forest) b ON b.rank = f.child
ORDER BY a.label, f.port

-- query: paths/next-hops
WITH hops AS (
  SELECT port, neighbour, distance
  FROM ports JOIN distances($topology, rank_of($topology, $target)) d ON d.node = neighbour
  WHERE topology = $topology AND ports.node = rank_of($topology, $source) AND $source <> $target
)
SELECT port, label AS next_node, distance
FROM hops JOIN nodes ON topology = $topology AND rank = neighbour
WHERE distance = (SELECT min(distance) FROM hops) ORDER BY port

-- query: paths/number-of-shortest-paths
WITH RECURSIVE reached(node, distance, ways) USING KEY (node) AS (
  SELECT rank_of($topology, $source), 0::BIGINT, 1::BIGINT
  UNION
  SELECT p.neighbour, any_value(reached.distance) + 1, sum(reached.ways)::BIGINT
  FROM reached JOIN ports p ON p.node = reached.node
  WHERE p.topology = $topology
    AND NOT EXISTS (SELECT 1 FROM recurring.reached seen WHERE seen.node = p.neighbour)
    AND NOT EXISTS (
      SELECT 1 FROM recurring.reached seen WHERE seen.node = rank_of($topology, $target)
    )
  GROUP BY p.neighbour
)
SELECT distance AS length, ways AS paths FROM reached WHERE node = rank_of($topology, $target)

-- query: paths/routing-table
WITH d AS MATERIALIZED (SELECT * FROM distances($topology, rank_of($topology, $target)))
SELECT label AS node, any_value(a.distance) AS distance, list(port ORDER BY port) AS ports
FROM ports p JOIN d a ON a.node = p.node JOIN d b ON b.node = p.neighbour
JOIN nodes n ON n.topology = $topology AND n.rank = p.node
WHERE p.topology = $topology AND b.distance < a.distance
GROUP BY rank, label ORDER BY rank

-- query: paths/shortest-path
WITH RECURSIVE d AS MATERIALIZED (
  SELECT * FROM distances($topology, rank_of($topology, $target))
), walk(node, path, ports) AS (
  SELECT rank, [label], []::BIGINT[] FROM nodes WHERE topology = $topology AND label = $source
  UNION ALL (
    SELECT p.neighbour, list_append(path, n.label), list_append(ports, p.port)
    FROM walk JOIN ports p ON p.node = walk.node
    JOIN d a ON a.node = p.node JOIN d b ON b.node = p.neighbour
    JOIN nodes n ON n.topology = $topology AND n.rank = p.neighbour
    WHERE p.topology = $topology AND b.distance = a.distance - 1
    ORDER BY p.port LIMIT 1
  )
)
SELECT len(ports) AS length, path, ports FROM walk WHERE node = rank_of($topology, $target)

-- query: paths/shortest-paths
WITH RECURSIVE d AS MATERIALIZED (
  SELECT * FROM distances($topology, rank_of($topology, $target))
), walk(node, path, ports) AS (
  SELECT rank, [label], []::BIGINT[] FROM nodes WHERE topology = $topology AND label = $source
  UNION ALL
  SELECT p.neighbour, list_append(path, n.label), list_append(ports, p.port)
  FROM walk JOIN ports p ON p.node = walk.node
  JOIN d a ON a.node = p.node JOIN d b ON b.node = p.neighbour
  JOIN nodes n ON n.topology = $topology AND n.rank = p.neighbour
  WHERE p.topology = $topology AND b.distance = a.distance - 1
)
SELECT len(ports) AS length, path, ports FROM walk
WHERE node = rank_of($topology, $target) ORDER BY ports

-- query: paths/tree-path
WITH RECURSIVE f AS (
  SELECT root, topology, reverse_ports FROM forests JOIN topologies ON spec = topology
  WHERE id = $forest
), climb(target, node, labels, ports) AS (
  SELECT end_label = $target, rank, [label], []::BIGINT[]
  FROM unnest([$source, $target]) AS ends(end_label) JOIN nodes_of($forest) ON label = end_label
  UNION ALL
  SELECT target, e.parent, list_append(labels, n.label), list_append(ports, e.port)
  FROM climb JOIN tree_edges e ON e.child = climb.node JOIN nodes_of($forest) n ON n.rank = e.parent
  WHERE e.forest = $forest AND e.tree = $tree
), ends AS (
  SELECT up.labels AS up, up.ports AS up_ports, down.labels AS down, down.ports AS down_ports,
    len(list_filter(up.labels, lambda v: NOT list_contains(down.labels, v))) AS climbed,
    len(list_filter(down.labels, lambda v: NOT list_contains(up.labels, v))) AS descended
  FROM climb up, climb down, f
  WHERE NOT up.target AND down.target AND up.node = f.root AND down.node = f.root
)
SELECT climbed + descended AS length, climbed AS upward_links,
  up[:climbed + 1] || list_reverse(down[:descended]) AS path,
  [reverse_ports[p + 1] for p in up_ports[:climbed]]
    || list_reverse(down_ports[:descended]) AS ports
FROM ends, f

-- query: schedules/activity
WITH node AS (SELECT rank FROM nodes_of($schedule) WHERE label = $node)
SELECT step, CASE WHEN sender = node.rank THEN 'sends' ELSE 'receives' END AS action,
  CASE WHEN sender = node.rank THEN port ELSE reverse_ports[port + 1] END AS port,
  p.label AS partner, unit, tree, combine = 1 AS combine
FROM node JOIN sends ON sender = node.rank OR receiver = node.rank
JOIN nodes_of($schedule) p ON p.rank = sender + receiver - node.rank
JOIN schedules s ON s.id = schedule JOIN topologies ON spec = s.topology
WHERE schedule = $schedule
ORDER BY step, action, 3, unit, tree

-- query: schedules/deliveries
SELECT step, unit, a.label AS sender, port, tree, combine = 1 AS combine
FROM sends
JOIN nodes_of($schedule) a ON a.rank = sender JOIN nodes_of($schedule) b ON b.rank = receiver
WHERE schedule = $schedule AND b.label = $node
ORDER BY step, unit, tree, a.label

-- query: schedules/dimensions
WITH used AS (
  SELECT step, port, count(DISTINCT sender) AS links, count(*) AS units
  FROM sends WHERE schedule = $schedule GROUP BY step, port
), steps AS (SELECT unnest(range(1, steps + 1)) AS step FROM schedules WHERE id = $schedule)
SELECT step, coalesce(list(port ORDER BY port) FILTER (port IS NOT NULL), []) AS dimensions,
  coalesce(list(links ORDER BY port) FILTER (port IS NOT NULL), []) AS links_used,
  coalesce(list(units ORDER BY port) FILTER (port IS NOT NULL), []) AS units
FROM steps LEFT JOIN used USING (step) GROUP BY step ORDER BY step

-- query: schedules/idle-links
SELECT a.label AS sender, p.port, b.label AS receiver
FROM schedules s JOIN ports p ON p.topology = s.topology
JOIN nodes_of($schedule) a ON a.rank = p.node JOIN nodes_of($schedule) b ON b.rank = p.neighbour
WHERE s.id = $schedule AND NOT EXISTS (
  SELECT 1 FROM sends
  WHERE schedule = $schedule AND step = $step AND sender = p.node AND sends.port = p.port
)
ORDER BY a.label, p.port

-- query: schedules/sends
SELECT a.label AS sender, port, b.label AS receiver, unit, tree, combine = 1 AS combine
FROM sends
JOIN nodes_of($schedule) a ON a.rank = sender JOIN nodes_of($schedule) b ON b.rank = receiver
WHERE schedule = $schedule AND step = $step
ORDER BY a.label, port, unit, tree

-- query: schedules/steps
WITH packets AS (
  SELECT step, count(*) AS units FROM sends WHERE schedule = $schedule GROUP BY step, sender, port
), steps AS (
  SELECT unnest(range(1, steps + 1)) AS step, links
  FROM schedules JOIN topologies ON spec = topology WHERE id = $schedule
)
SELECT step, count(units) AS links_used, 2 * links - count(units) AS idle_links,
  coalesce(sum(units), 0) AS units, coalesce(max(units), 0) AS largest_packet
FROM steps LEFT JOIN packets USING (step) GROUP BY step, links ORDER BY step

-- query: topology/adjacency
WITH ends AS (
  SELECT rank_of($topology, $source) AS node, rank_of($topology, $target) AS neighbour
)
SELECT p.port IS NOT NULL AS adjacent, p.port, q.port AS reverse_port
FROM ends
LEFT JOIN ports p
  ON p.topology = $topology AND p.node = ends.node AND p.neighbour = ends.neighbour
LEFT JOIN ports q
  ON q.topology = $topology AND q.node = ends.neighbour AND q.neighbour = ends.node

-- query: topology/degrees
WITH degrees AS (SELECT node, count(*) AS degree FROM ports WHERE topology = $topology GROUP BY node)
SELECT degree, count(*) AS nodes, arg_min(label, rank) AS lowest_node
FROM degrees JOIN nodes ON topology = $topology AND rank = node GROUP BY degree ORDER BY degree

-- query: topology/distance-profile
SELECT distance, count(*) AS nodes FROM distances($topology, rank_of($topology, $node))
GROUP BY distance ORDER BY distance

-- query: topology/neighbours
SELECT port, label AS neighbour
FROM ports p JOIN nodes n ON n.topology = p.topology AND n.rank = p.neighbour
WHERE p.topology = $topology AND p.node = rank_of($topology, $node) ORDER BY port

-- query: topology/nodes-at-distance
SELECT rank, label AS node
FROM distances($topology, rank_of($topology, $node)) d JOIN nodes n ON n.rank = d.node
WHERE n.topology = $topology AND d.distance = $distance ORDER BY rank

-- query: topology/substar
SELECT rank, label AS node FROM nodes
WHERE topology = $topology AND label LIKE replace($pattern, '*', '_') ORDER BY rank

-- query: trees/changed-parents
WITH both_parents AS (
  SELECT tree, child, max(parent) FILTER (forest = $forest) AS parent,
    max(parent) FILTER (forest = $other_forest) AS other
  FROM tree_edges
  WHERE forest IN ($forest, $other_forest)
    AND tree < (SELECT min(trees) FROM forests WHERE id IN ($forest, $other_forest))
  GROUP BY tree, child
)
SELECT tree, n.label AS node, a.label AS parent, b.label AS other_parent
FROM both_parents p JOIN nodes_of($forest) n ON n.rank = child
LEFT JOIN nodes_of($forest) a ON a.rank = p.parent LEFT JOIN nodes_of($forest) b ON b.rank = other
WHERE p.parent IS DISTINCT FROM other
ORDER BY tree, n.label

-- query: trees/deeper-nodes
WITH f AS (SELECT topology, root FROM forests WHERE id = $forest)
SELECT tree, label AS node, level, distance, level - distance AS excess
FROM tree_edges JOIN nodes_of($forest) ON rank = child
JOIN distances((SELECT topology FROM f), (SELECT root FROM f)) d ON d.node = child
WHERE forest = $forest AND level - distance >= $min_excess
ORDER BY excess DESC, tree, label

-- query: trees/depth-and-load
WITH loads AS (
  SELECT tree, level, count(*) OVER (PARTITION BY parent, child) AS load
  FROM tree_edges WHERE forest = $forest
)
SELECT tree, count(*) + 1 AS nodes, max(level) AS height, max(load) AS largest_load,
  count(*) FILTER (load > 1) AS shared_links
FROM loads GROUP BY tree ORDER BY height, largest_load, tree

-- query: trees/fan-out
WITH ends AS (
  SELECT tree, parent AS node, 1 AS more FROM tree_edges WHERE forest = $forest
  UNION ALL
  SELECT tree, child, 0 FROM tree_edges WHERE forest = $forest
), counts AS (SELECT tree, node, sum(more)::BIGINT AS children FROM ends GROUP BY tree, node)
SELECT tree, children, count(*) AS nodes, arg_min(label, rank) AS lowest_node
FROM counts JOIN nodes_of($forest) ON rank = node GROUP BY tree, children ORDER BY tree, children

-- query: trees/heights
WITH heights AS (
  SELECT tree, count(*) + 1 AS nodes, max(level) AS height
  FROM tree_edges WHERE forest = $forest GROUP BY tree
)
SELECT h.tree, any_value(h.nodes) AS nodes, any_value(height) AS height,
  count(*) AS deepest_nodes, arg_min(label, rank) AS lowest_node
FROM heights h JOIN tree_edges e ON e.tree = h.tree AND e.level = h.height
JOIN nodes_of($forest) ON rank = child
WHERE e.forest = $forest GROUP BY h.tree ORDER BY h.tree

-- query: trees/leaf-count
SELECT tree, count(*) + 1 AS nodes, count(*) + 1 - count(DISTINCT parent) AS leaves
FROM tree_edges WHERE forest = $forest GROUP BY tree ORDER BY tree

-- query: trees/leaves
SELECT a.label AS parent, port, b.label AS leaf, level
FROM tree_edges e
JOIN nodes_of($forest) a ON a.rank = parent JOIN nodes_of($forest) b ON b.rank = child
WHERE forest = $forest AND tree = $tree AND NOT EXISTS (
  SELECT 1 FROM tree_edges below
  WHERE below.forest = $forest AND below.tree = $tree AND below.parent = e.child
)
ORDER BY b.label

-- query: trees/level-profile
SELECT unnest(range(trees)) AS tree, 0 AS level, 1 AS nodes FROM forests WHERE id = $forest
UNION ALL
SELECT tree, level, count(*) FROM tree_edges WHERE forest = $forest GROUP BY tree, level
ORDER BY tree, level

-- query: trees/node-in-trees
WITH node AS (SELECT rank FROM nodes_of($forest) WHERE label = $node),
all_trees AS (SELECT unnest(range(trees)) AS tree, root FROM forests WHERE id = $forest),
below AS (
  SELECT tree, list(label ORDER BY port) AS children, sum(subtree_nodes) AS nodes
  FROM tree_edges JOIN node ON parent = node.rank JOIN nodes_of($forest) c ON c.rank = child
  WHERE forest = $forest GROUP BY tree
)
SELECT t.tree, coalesce(e.level, 0) AS level, p.label AS parent, e.port,
  coalesce(children, []) AS child_nodes, coalesce(nodes, 0) + 1 AS subtree_nodes
FROM all_trees t CROSS JOIN node
LEFT JOIN tree_edges e ON e.forest = $forest AND e.tree = t.tree AND e.child = node.rank
LEFT JOIN nodes_of($forest) p ON p.rank = e.parent LEFT JOIN below ON below.tree = t.tree
WHERE node.rank = t.root OR e.child IS NOT NULL
ORDER BY t.tree

-- query: trees/root-subtrees
SELECT tree, port, label AS child, subtree_nodes
FROM tree_edges JOIN forests ON id = forest AND root = parent JOIN nodes_of($forest) ON rank = child
WHERE forest = $forest ORDER BY tree, port

-- query: trees/stretch
WITH f AS (SELECT topology, root, trees FROM forests WHERE id = $forest), excesses AS (
  SELECT tree, level - distance AS excess
  FROM tree_edges
  JOIN distances((SELECT topology FROM f), (SELECT root FROM f)) d ON d.node = child
  WHERE forest = $forest
  UNION ALL
  SELECT unnest(range(trees)), 0 FROM f
)
SELECT tree, excess, count(*) AS nodes FROM excesses GROUP BY tree, excess ORDER BY tree, excess
