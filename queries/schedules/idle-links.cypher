// title: Idle links in a step
// question: Which directed links of the topology carry no unit in a step of a schedule?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; if the
//     schedule is symmetric, only the sends of one source are stored. On S_n and Q_d, when all
//     sources send, a link is idle if no stored send uses its dimension (see the query
//     schedules/dimensions)
//   step (int >= 1): the step; after the last step all links are idle
// columns:
//   sender (node): the node that the link leaves
//   port: port of the sender that leads to the receiver
//   receiver (node): the node that the link enters
// cost: reads every link of the topology in both directions, and every send of the given step
// revision: 2
// reference: Tseng & Sheu 1997, Theorem 1; Fragopoulou & Akl 1996, section 4

MATCH (s:Schedule {id: $schedule})
MATCH (t:Topology {spec: s.topology})
CALL (s, t) {
  // Neo4j uses the index on topology and rank only if both are constrained; hence `rank >= 0`.
  MATCH (sender:Node {topology: t.spec} WHERE sender.rank >= 0)-[l:LINK]-(receiver:Node)
  // A LINK stores only the port of its lower-ranked end.
  RETURN sender, receiver, 0 AS sends,
    CASE WHEN sender.rank < receiver.rank THEN l.port ELSE t.reverse_ports[l.port] END AS port
  UNION ALL
  MATCH (sender)-[e:SEND WHERE e.schedule = s.id AND e.step = $step]->(receiver)
  RETURN sender, receiver, 1 AS sends, e.port AS port
}
WITH sender, port, receiver, sum(sends) AS sends
WHERE sends = 0
RETURN sender.label AS sender, port, receiver.label AS receiver
ORDER BY sender, port
