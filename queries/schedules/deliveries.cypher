// title: Deliveries to a node
// question: When does a node get each unit of a schedule, and from whom?
// parameters:
//   schedule (schedule): id of the schedule, as 'starcast schedule list' prints it; of a symmetric one, the units of the one
//     source that is stored
//   node (node): label of the node that receives
// columns:
//   step: step in which the unit arrives, from 1
//   unit: number of the unit, from 0, in the whole collective, or of a symmetric schedule among those of its source
//   sender (node): node that it comes from
//   port: port of the sender
//   tree: number of the tree along which it travels
// cost: everything that the node receives in the schedules of its topology
// revision: 2
// reference: Tseng & Sheu 1997, Alg. 1 and Theorem 2; Sheu, Liaw & Chen 1993

MATCH (s:Schedule {id: $schedule})
MATCH (node:Node {topology: s.topology, label: $node})<-[e:SEND {schedule: s.id}]-(sender:Node)
RETURN e.step AS step, e.unit AS unit, sender.label AS sender, e.port AS port, e.tree AS tree
ORDER BY step, unit, tree
