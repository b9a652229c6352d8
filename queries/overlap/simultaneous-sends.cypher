// title: Several sends on one link in a step
// question: Over which directed links does a schedule send several units in one step, which ones, and along which trees?
// parameters:
//   schedule (schedule): id of the schedule, as 'starcast schedule list' prints it; of a symmetric one, the sends of the one
//     source that is stored
//   least (int >= 1, default 2): how many sends a link must carry in the step to be listed
// columns:
//   step: the step, from 1
//   sender (node): node that the link leaves
//   port: port of the sender
//   receiver (node): node that the link enters
//   sends: how many units cross the link in that step; more than one is a packet, or an overlap where packets are not meant
//   trees: the trees along which they travel, in order
//   units: the number of each unit, as schedules/sends gives it, in the same order
// cost: every send of the schedule once
// revision: 1
// reference: Tseng & Sheu 1997, Alg. 1 (a packet is what a link carries in a step); conventions: capacity of one packet a step

// The index is on schedule and step; it is used only where both are asked for.
MATCH (sender:Node)-[e:SEND WHERE e.schedule = $schedule AND e.step >= 1]->(receiver:Node)
WITH sender, receiver, e
ORDER BY e.tree, e.unit
WITH e.step AS step, sender, receiver, e.port AS port, collect(e.tree) AS trees, collect(e.unit) AS units
WHERE size(units) >= $least
RETURN step, sender.label AS sender, port, receiver.label AS receiver, size(units) AS sends, trees, units
ORDER BY step, sender, port
