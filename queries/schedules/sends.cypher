// title: Sends of a step
// question: Who sends what to whom in a step of a schedule?
// parameters:
//   schedule (schedule): id of the schedule, as 'starcast schedule list' prints it; of a symmetric one, the sends of the one
//     source that is stored, of which the other sources' are translations
//   step (int >= 1): the step
// columns:
//   sender (node): node that sends
//   port: port of the sender
//   receiver (node): node that receives
//   unit: number of the unit, from 0, in the whole collective, or of a symmetric schedule among those of its source;
//     those of one sender and port in a step are one packet
//   tree: number of the tree along which it travels
// cost: the sends of that step
// revision: 1
// reference: Tseng & Sheu 1997, Alg. 1; Fragopoulou & Akl 1993, section 3

MATCH (s:Schedule {id: $schedule})
MATCH (sender)-[e:SEND WHERE e.schedule = s.id AND e.step = $step]->(receiver)
RETURN sender.label AS sender, e.port AS port, receiver.label AS receiver, e.unit AS unit, e.tree AS tree
ORDER BY sender, port, unit, tree
