// title: Several units on a link in one step
// question: Over which directed links does a schedule send several units in one step, which units,
//     and along which trees?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; if the
//     schedule is symmetric, only the sends of one source are stored
//   min_units (int >= 1, default 2): list links that carry at least this many units in one step
// columns:
//   step: number of the step, from 1
//   sender (node): the node that the link leaves
//   port: port of the sender that leads to the receiver
//   receiver (node): the node that the link enters
//   units: number of units that cross the link in that step; together they form one packet
//   tree_numbers: numbers of the trees along which these units travel, in ascending order
//   unit_numbers: numbers of the units, listed in the order of tree_numbers; schedules/sends uses
//     the same numbers
// cost: reads every send of the schedule once
// revision: 2
// reference: Tseng & Sheu 1997, Alg. 1 (a link carries one packet per step);
//     docs/definitions/conventions.md, capacity of one packet per step

// Neo4j uses the index on schedule and step only if both are constrained; hence `e.step >= 1`.
MATCH (sender:Node)-[e:SEND WHERE e.schedule = $schedule AND e.step >= 1]->(receiver:Node)
WITH sender, receiver, e
ORDER BY e.tree, e.unit
WITH e.step AS step, sender, receiver, e.port AS port, collect(e.tree) AS trees,
  collect(e.unit) AS units
WHERE size(units) >= $min_units
RETURN step, sender.label AS sender, port, receiver.label AS receiver, size(units) AS units,
  trees AS tree_numbers, units AS unit_numbers
ORDER BY step, sender, port
