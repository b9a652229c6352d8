// title: Deliveries to a node
// question: When does a node receive each unit of a schedule, and from which node?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; if the
//     schedule is symmetric, only the units of one source are stored
//   node (node): label of the receiving node
// columns:
//   step: step in which the unit arrives, from 1
//   unit: number of the unit in the collective, from 0; in a symmetric schedule, number of the unit
//     among the units of its source
//   sender (node): the node that sends the unit
//   port: port of the sender that leads to the receiver
//   tree: number of the tree along which the unit travels
//   combine: in reductions, whether the node adds the unit to its partial sum (if not, it stores
//     the unit as the complete sum)
// cost: reads all sends that enter the node, in all stored schedules on its topology
// revision: 3
// reference: Tseng & Sheu 1997, Alg. 1 and Theorem 2; Sheu, Liaw & Chen 1993

MATCH (s:Schedule {id: $schedule})
MATCH (node:Node {topology: s.topology, label: $node})<-[e:SEND {schedule: s.id}]-(sender:Node)
RETURN e.step AS step, e.unit AS unit, sender.label AS sender, e.port AS port, e.tree AS tree,
  e.combine = 1 AS combine
ORDER BY step, unit, tree, sender
