// title: Packet sizes
// question: How many packets of one unit, of two units, ... does a schedule send, in total or in
//     each step?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; if the
//     schedule is symmetric, only the packets of one source are stored
//   by_step (boolean, default false): count the packets of each step separately
// columns:
//   step: number of the step, from 1; null if all steps are counted together
//   units: number of units in a packet (the units that cross a directed link in the same step)
//   packets: number of packets with this number of units
// cost: reads every send of the schedule once
// revision: 1
// reference: Tseng & Sheu 1997, Alg. 1 and Lemma 6 (at most two units per packet with the n-1
//     trees)

// Neo4j uses the index on schedule and step only if both are constrained; hence `e.step >= 1`.
MATCH (sender:Node)-[e:SEND WHERE e.schedule = $schedule AND e.step >= 1]->(receiver:Node)
WITH e.step AS step, sender, receiver, count(e) AS units
RETURN CASE WHEN $by_step THEN step END AS step, units, count(*) AS packets
ORDER BY step, units
