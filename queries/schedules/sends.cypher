// title: Sends of a step
// question: Which node sends which unit to which node in a step of a schedule?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; of a symmetric
//     schedule, only the sends of one source are stored; the sends of the other sources are
//     translations of these
//   step (int >= 1): the step
// columns:
//   sender (node): the sending node
//   port: port of the sender
//   receiver (node): the receiving node
//   unit: number of the unit in the collective, from 0; in a symmetric schedule, its number among
//     the units of its source. The units of one sender and port in a step form a packet
//   tree: number of the tree along which the unit travels
//   combine: whether the receiver adds the unit to its partial sum, in reductions
// cost: every send of that step once
// revision: 2
// reference: Tseng & Sheu 1997, Alg. 1; Fragopoulou & Akl 1993, section 3

MATCH (s:Schedule {id: $schedule})
MATCH (sender)-[e:SEND WHERE e.schedule = s.id AND e.step = $step]->(receiver)
RETURN sender.label AS sender, e.port AS port, receiver.label AS receiver, e.unit AS unit,
  e.tree AS tree, e.combine = 1 AS combine
ORDER BY sender, port, unit, tree
