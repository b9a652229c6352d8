// title: Sends that lead to the last arrival
// question: Which unit arrives last, and by which sequence of sends?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; of a symmetric
//     schedule, only the units of one source are stored; those of the other sources are
//     translations
//   limit (int >= 1, default 1): maximum number of last arrivals to trace, ordered by receiver,
//     unit, tree and sender; all are in the last step
// columns:
//   unit: number of the unit, from 0, in the collective, or in a symmetric schedule among the units
//     of its source
//   tree: number of the tree along which the unit travels
//   path (list of node): labels of the nodes that the unit visits; in a reduction, the longest way
//     of a contribution to the last arrival
//   ports: port through which each hop leaves
//   hop_steps: step of each hop; the unit waits in the steps between
// cost: the sends of the last step, and the path of each unit that is traced back
// revision: 3
// reference: Tseng & Sheu 1997, Theorem 1; Sheu, Liaw & Chen 1993, section 2

MATCH (s:Schedule {id: $schedule})
MATCH (holder)-[last:SEND WHERE last.schedule = s.id AND last.step = s.steps]->(receiver)
WITH holder, last, receiver
ORDER BY receiver.rank, last.unit, last.tree, holder.rank
LIMIT $limit
// Follows sends of the same unit and tree back: copies of a unit travel along different trees.
// In an allreduce a node receives a unit twice: first contributions to it, later the sum. So the
// way back leads along sends of the sum, then along those of contributions.
MATCH back = (holder)(()<-[e:SEND WHERE e.schedule = $schedule AND e.unit = last.unit
    AND e.tree = last.tree AND e.combine = 0 AND last.combine = 0]-())*
  ()(()<-[f:SEND WHERE f.schedule = $schedule AND f.unit = last.unit
    AND f.tree = last.tree AND f.combine = 1]-())*(start)
WITH last, receiver, nodes(back) AS nodes, relationships(back) AS sends
WHERE all(i IN range(0, size(sends) - 1) WHERE
  sends[i].step < CASE i WHEN 0 THEN last.step ELSE sends[i - 1].step END)
// The longest path back is the complete one: along a tree a node receives a unit once.
ORDER BY size(sends) DESC, [v IN nodes | v.rank]
WITH last, receiver, head(collect(nodes)) AS nodes, head(collect(sends)) AS sends
RETURN last.unit AS unit, last.tree AS tree,
  [v IN reverse(nodes) | v.label] + receiver.label AS path,
  [e IN reverse(sends) | e.port] + last.port AS ports,
  [e IN reverse(sends) | e.step] + last.step AS hop_steps
ORDER BY path[-1], unit, tree, path[-2]
