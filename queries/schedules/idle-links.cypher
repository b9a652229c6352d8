// title: Idle links in a step
// question: Which directed links of the topology carry nothing in a step of a schedule?
// parameters:
//   schedule (schedule): id of the schedule, as 'starcast schedule list' prints it; of a symmetric one, only the one source
//     that is stored sends (on S_n and Q_d, with all of them at work, a link is idle if no send uses its dimension: see
//     schedules/dimensions)
//   step (int >= 1): the step; after the last one all links are idle
// columns:
//   sender (node): node that could send
//   port: port of that node
//   receiver (node): node that would receive
// cost: every link of the topology in both directions, and the sends of that step
// revision: 1
// reference: Tseng & Sheu 1997, Theorem 1; Fragopoulou & Akl 1996, section 4

MATCH (s:Schedule {id: $schedule})
MATCH (t:Topology {spec: s.topology})
CALL (s, t) {
  // The index is on topology and rank; it is used only where both are asked for.
  MATCH (sender:Node {topology: t.spec} WHERE sender.rank >= 0)-[l:LINK]-(receiver:Node)
  // A link bears the port of its lower end. The other end's is the same but for residual ports of (n,k)-stars.
  // properties(t).k, not t.k: where no (n,k)-star is stored, Neo4j does not know that property and would say so.
  RETURN sender, receiver, 0 AS sends,
    CASE WHEN sender.rank > receiver.rank AND l.port > properties(t).k THEN t.n + properties(t).k + 1 - l.port ELSE l.port END AS port
  UNION ALL
  MATCH (sender)-[e:SEND WHERE e.schedule = s.id AND e.step = $step]->(receiver)
  RETURN sender, receiver, 1 AS sends, e.port AS port
}
WITH sender, port, receiver, sum(sends) AS sends
WHERE sends = 0
RETURN sender.label AS sender, port, receiver.label AS receiver
ORDER BY sender, port
