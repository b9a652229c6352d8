// title: Dimensions used in each step
// question: Which dimensions (that is, ports) are used in each step of a schedule, and how many
//     directed links of each dimension?
// parameters:
//   schedule (schedule): id of the schedule, as printed by 'starcast schedule list'; if the
//     schedule is symmetric, only the sends of one source are stored. On S_n and Q_d, when all
//     sources send, every directed link of a dimension carries as many units as are listed for the
//     dimension
// columns:
//   step: number of the step, from 1
//   dimensions: ports through which nodes send, in ascending order
//   links_used: number of directed links used in each of these dimensions
//   units: number of units sent in each of these dimensions
// cost: reads every send of the schedule once
// revision: 2
// reference: Fragopoulou & Akl 1993, section 3; Fragopoulou & Akl 1996, Lemma 7

// If all numbers in `units` are 1 in a step of a symmetric schedule on S_n or Q_d, no two sources
// use the same link in this step.
MATCH (s:Schedule {id: $schedule})
CALL (s) {
  MATCH (sender)-[e:SEND WHERE e.schedule = s.id AND e.step >= 1]->()
  RETURN e.step AS step, e.port AS dimension, count(DISTINCT sender) AS links, count(*) AS units
  UNION ALL
  // A step of a one-port schedule may be empty.
  UNWIND range(1, s.steps) AS step
  RETURN step, null AS dimension, null AS links, null AS units
}
WITH step, dimension, links, units
ORDER BY step, dimension
RETURN step, collect(dimension) AS dimensions, collect(links) AS links_used, collect(units) AS units
ORDER BY step
