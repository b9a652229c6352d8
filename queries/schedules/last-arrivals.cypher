// title: Path of the unit that arrives last
// question: Which unit of a schedule arrives last, and along which path has it been sent?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; if the
//     schedule is symmetric, only the sends of one source are stored; translations map them to the
//     sends of the other sources
//   limit (int >= 1, default 1): maximum number of arrivals in the last step to trace back, taken
//     in the order of receiver, unit, tree and sender
// columns:
//   unit: number of the unit in the collective, from 0; in a symmetric schedule, number of the unit
//     among the units of its source
//   tree: number of the tree along which the unit travels
//   path (list of node): labels of the nodes that the unit visits; in a reduction, those on the
//     longest path by which a contribution reaches the receiver
//   ports: for each hop of the path, the port through which the path leaves a node
//   hop_steps: step of each hop; the unit waits in the steps between
// cost: reads every send of the last step once, and every send on the paths that are traced back
// revision: 3
// reference: Tseng & Sheu 1997, Theorem 1; Sheu, Liaw & Chen 1993, section 2

MATCH (s:Schedule {id: $schedule})
MATCH (holder)-[last:SEND WHERE last.schedule = s.id AND last.step = s.steps]->(receiver)
WITH holder, last, receiver
ORDER BY receiver.rank, last.unit, last.tree, holder.rank
LIMIT $limit
// The query traces back only sends of the same unit along the same tree, because copies of a unit
// may travel along different trees.
// In an allreduce, a node first receives contributions to a unit, and later the unit's sum. Traced
// back, the path therefore follows sends of the sum first, and then sends of contributions.
MATCH back = (holder)(()<-[e:SEND WHERE e.schedule = $schedule AND e.unit = last.unit
    AND e.tree = last.tree AND e.combine = 0 AND last.combine = 0]-())*
  ()(()<-[f:SEND WHERE f.schedule = $schedule AND f.unit = last.unit
    AND f.tree = last.tree AND f.combine = 1]-())*(start)
WITH last, receiver, nodes(back) AS nodes, relationships(back) AS sends
WHERE all(i IN range(0, size(sends) - 1) WHERE
  sends[i].step < CASE i WHEN 0 THEN last.step ELSE sends[i - 1].step END)
// The complete path is the longest one traced back, because a node receives a unit only once along
// a tree.
ORDER BY size(sends) DESC, [v IN nodes | v.rank]
WITH last, receiver, head(collect(nodes)) AS nodes, head(collect(sends)) AS sends
RETURN last.unit AS unit, last.tree AS tree,
  [v IN reverse(nodes) | v.label] + receiver.label AS path,
  [e IN reverse(sends) | e.port] + last.port AS ports,
  [e IN reverse(sends) | e.step] + last.step AS hop_steps
ORDER BY path[-1], unit, tree, path[-2]
