// title: What a node does
// question: What does a node send and receive in every step of a schedule, over which of its ports?
// parameters:
//   schedule (schedule): id of the schedule, as 'starcast schedule list' prints it; of a symmetric one, what the node does
//     for the one source that is stored
//   node (node): label of the node
// columns:
//   step: the step, from 1
//   does: sends or receives
//   port: port of the node itself
//   partner (node): node that it sends to or receives from
//   unit: number of the unit, from 0, in the whole collective, or of a symmetric schedule among those of its source;
//     those of one step and port that it sends are one packet
//   tree: number of the tree along which it travels
// cost: everything that the node sends and receives in the schedules of its topology
// revision: 1
// reference: conventions: all-port and one-port; Tseng & Sheu 1997, Alg. 1 and Theorem 2

MATCH (s:Schedule {id: $schedule})
MATCH (t:Topology {spec: s.topology})
CALL (s, t) {
  MATCH (node:Node {topology: t.spec, label: $node})-[e:SEND {schedule: s.id}]-(partner:Node)
  RETURN e, startNode(e) = node AS out, partner
}
// A send bears the sender's port. The receiver's is the same but for residual ports of (n,k)-stars.
// properties(t).k, not t.k: where no (n,k)-star is stored, Neo4j does not know that property and would say so.
RETURN e.step AS step, CASE WHEN out THEN 'sends' ELSE 'receives' END AS does,
  CASE WHEN NOT out AND e.port > properties(t).k THEN t.n + properties(t).k + 1 - e.port ELSE e.port END AS port,
  partner.label AS partner, e.unit AS unit, e.tree AS tree
ORDER BY step, does, port, unit, tree
