// title: Activity of a node
// question: What does a node send and receive in every step of a schedule, and through which of its
//     ports?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; if the
//     schedule is symmetric, only the sends of one source are stored
//   node (node): label of the node
// columns:
//   step: number of the step, from 1
//   action: sends or receives
//   port: port of the given node
//   partner (node): the node to which the given node sends, or from which it receives
//   unit: number of the unit in the collective, from 0; in a symmetric schedule, number of the unit
//     among the units of its source. The units that the node sends through one port in one step
//     form a packet
//   tree: number of the tree along which the unit travels
//   combine: in reductions, whether the receiver adds the unit to its partial sum (if not, it
//     stores the unit as the complete sum)
// cost: reads all sends that leave or enter the node, in all stored schedules on its topology
// revision: 4
// reference: docs/definitions/conventions.md, all-port and one-port; Tseng & Sheu 1997, Alg. 1 and
//     Theorem 2

MATCH (s:Schedule {id: $schedule})
MATCH (t:Topology {spec: s.topology})
CALL (s, t) {
  MATCH (node:Node {topology: t.spec, label: $node})-[e:SEND {schedule: s.id}]-(partner:Node)
  RETURN e, startNode(e) = node AS out, partner
}
// A SEND stores only the port of its sender.
RETURN e.step AS step, CASE WHEN out THEN 'sends' ELSE 'receives' END AS action,
  CASE WHEN out THEN e.port ELSE t.reverse_ports[e.port] END AS port,
  partner.label AS partner, e.unit AS unit, e.tree AS tree, e.combine = 1 AS combine
ORDER BY step, action, port, unit, tree
