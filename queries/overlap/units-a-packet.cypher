// title: Units a packet
// question: How many packets of one unit, of two, ... does a schedule send, in all or in each step?
// parameters:
//   schedule (schedule): id of the schedule, as 'starcast schedule list' prints it; of a symmetric one, the packets of the one
//     source that is stored
//   by_step (boolean, default false): true counts each step by itself
// columns:
//   step: the step, from 1; nothing where all steps are counted together
//   units: units that cross one directed link in one step, which is a packet
//   packets: how many packets have so many
// cost: every send of the schedule once
// revision: 1
// reference: Tseng & Sheu 1997, Alg. 1 and Lemma 6 (at most two units a packet in the n-1 trees)

// The index is on schedule and step; it is used only where both are asked for.
MATCH (sender:Node)-[e:SEND WHERE e.schedule = $schedule AND e.step >= 1]->(receiver:Node)
WITH e.step AS step, sender, receiver, count(e) AS units
RETURN CASE WHEN $by_step THEN step END AS step, units, count(*) AS packets
ORDER BY step, units
