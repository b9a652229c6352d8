// title: Overview of the steps
// question: How many directed links are busy and idle in each step of a schedule, and how much do they carry?
// parameters:
//   schedule (schedule): id of the schedule, as 'starcast schedule list' prints it; of a symmetric one, the sends of the one
//     source that is stored (for all sources together see schedules/dimensions)
// columns:
//   step: the step, from 1
//   busy: directed links that carry something, each one packet
//   idle: directed links that carry nothing
//   units: units sent; as many as packets where a packet is one unit
//   largest: units in the largest packet
// cost: every send of the schedule once
// revision: 1
// reference: Tseng & Sheu 1997, Theorem 1 and Alg. 2; simulator: links_used, packet_sizes

MATCH (s:Schedule {id: $schedule})
MATCH (t:Topology {spec: s.topology})
CALL (s) {
  MATCH (sender)-[e:SEND WHERE e.schedule = s.id AND e.step >= 1]->()
  RETURN e.step AS step, sender, e.port AS port, count(*) AS units
  UNION ALL
  // A one-port schedule may leave a step empty.
  UNWIND range(1, s.steps) AS step
  RETURN step, null AS sender, null AS port, 0 AS units
}
WITH t, step, count(sender) AS busy, sum(units) AS units, max(units) AS largest
RETURN step, busy, 2 * t.links - busy AS idle, units, largest
ORDER BY step
