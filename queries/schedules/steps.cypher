// title: Overview of the steps
// question: How many directed links are used and how many are idle in each step of a schedule, and
//     how many units are sent?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; if the
//     schedule is symmetric, only the sends of one source are stored (for all sources together see
//     schedules/dimensions)
// columns:
//   step: number of the step, from 1
//   links_used: number of directed links that carry a packet
//   idle_links: number of directed links that carry no packet
//   units: number of units sent
//   largest_packet: number of units in the largest packet
// cost: reads every send of the schedule once
// revision: 2
// reference: Tseng & Sheu 1997, Theorem 1 and Alg. 2; attributes links_used and packet_sizes of
//     starcast's class Simulation

MATCH (s:Schedule {id: $schedule})
MATCH (t:Topology {spec: s.topology})
CALL (s) {
  MATCH (sender)-[e:SEND WHERE e.schedule = s.id AND e.step >= 1]->()
  RETURN e.step AS step, sender, e.port AS port, count(*) AS units
  UNION ALL
  // A step of a one-port schedule may be empty.
  UNWIND range(1, s.steps) AS step
  RETURN step, null AS sender, null AS port, 0 AS units
}
WITH t, step, count(sender) AS links_used, sum(units) AS units, max(units) AS largest_packet
RETURN step, links_used, 2 * t.links - links_used AS idle_links, units, largest_packet
ORDER BY step
