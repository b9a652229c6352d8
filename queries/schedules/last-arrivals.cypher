// title: The chain of sends that ends last
// question: Which unit arrives last, and by which sends, one after the other, did it come there from where it started?
// parameters:
//   schedule (schedule): id of the schedule, as 'starcast schedule list' prints it; of a symmetric one, the units of the one
//     source that is stored, of which the other sources' are translations
//   count (int >= 1, default 1): how many of the last arrivals to trace, by receiver, unit and tree; all are in the last step
// columns:
//   unit: number of the unit, from 0, in the whole collective, or of a symmetric schedule among those of its source
//   tree: number of the tree along which it travels
//   nodes (list of node): labels of the nodes that held it, from where it started to where it arrives last
//   ports: port that each hop leaves by
//   steps: step of each hop; what lies between two of them is waiting
// cost: the sends of the last step, and the way back of those that are traced
// revision: 1
// reference: Tseng & Sheu 1997, Theorem 1; Sheu, Liaw & Chen 1993, section 2

MATCH (s:Schedule {id: $schedule})
MATCH (holder)-[last:SEND WHERE last.schedule = s.id AND last.step = s.steps]->(receiver)
WITH holder, last, receiver
ORDER BY receiver.rank, last.unit, last.tree
LIMIT $count
// Back along the same unit and tree. Copies of a unit travel along different trees, and each of them goes on by itself.
MATCH back = (holder)(()<-[e:SEND WHERE e.schedule = $schedule AND e.unit = last.unit AND e.tree = last.tree]-())*(start)
WITH last, receiver, nodes(back) AS nodes, relationships(back) AS sends
// The longest way back is the whole one: along a tree a node gets a unit once.
ORDER BY size(sends) DESC
WITH last, receiver, head(collect(nodes)) AS nodes, head(collect(sends)) AS sends
RETURN last.unit AS unit, last.tree AS tree,
  [v IN reverse(nodes) | v.label] + receiver.label AS nodes,
  [e IN reverse(sends) | e.port] + last.port AS ports,
  [e IN reverse(sends) | e.step] + last.step AS steps
ORDER BY nodes[-1], unit, tree
