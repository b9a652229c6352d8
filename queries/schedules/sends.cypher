// title: Sends of a step
// question: Which node sends which unit to which node in a step of a schedule?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; if the
//     schedule is symmetric, only the sends of one source are stored; translations map them to the
//     sends of the other sources
//   step (int >= 1): the step
// columns:
//   sender (node): the sending node
//   port: port of the sender that leads to the receiver
//   receiver (node): the receiving node
//   unit: number of the unit in the collective, from 0; in a symmetric schedule, number of the unit
//     among the units of its source. The units of one sender and port in a step form a packet
//   tree: number of the tree along which the unit travels
//   combine: in reductions, whether the receiver adds the unit to its partial sum (if not, it
//     stores the unit as the complete sum)
// cost: reads every send of the given step once
// revision: 2
// reference: Tseng & Sheu 1997, Alg. 1; Fragopoulou & Akl 1993, section 3

MATCH (s:Schedule {id: $schedule})
MATCH (sender)-[e:SEND WHERE e.schedule = s.id AND e.step = $step]->(receiver)
RETURN sender.label AS sender, e.port AS port, receiver.label AS receiver, e.unit AS unit,
  e.tree AS tree, e.combine = 1 AS combine
ORDER BY sender, port, unit, tree
