// title: Deliveries to a node
// question: When does a node get each unit of a schedule, and from whom?
// parameters:
//   schedule (schedule): id of the schedule, as 'starcast schedule list' prints it
//   node (node): label of the node that receives
// columns:
//   step: step in which the unit arrives, from 1
//   unit: number of the unit in the whole collective, from 0
//   sender (node): node that it comes from
//   port: port of the sender
//   tree: number of the tree along which it travels
// cost: everything that the node receives in the schedules of its topology
// revision: 2
// reference: Tseng & Sheu 1997, Alg. 1 and Theorem 2; Sheu, Liaw & Chen 1993

// Of a symmetric schedule the units are those of the one source that is stored; the other sources' are translations of them.
MATCH (s:Schedule {id: $schedule})
MATCH (node:Node {topology: s.topology, label: $node})<-[e:SEND {schedule: s.id}]-(sender:Node)
RETURN e.step AS step, e.payload AS unit, sender.label AS sender, e.port AS port, e.tree AS tree
ORDER BY step, unit, tree
