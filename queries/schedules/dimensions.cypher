// title: Dimensions in use
// question: Which dimensions, or ports, does each step of a schedule use, on how many links each?
// parameters:
//   schedule (schedule): id of the schedule, as 'starcast schedule list' prints it; of a symmetric one, the sends of the one
//     source that is stored: on S_n and Q_d, with all sources at work, every directed link of a dimension carries as many
//     units as stand for it
// columns:
//   step: the step, from 1
//   dimensions: ports over which somebody sends, ascending
//   links: for each of them, over how many directed links
//   units: for each of them, how many units in all
// cost: every send of the schedule once
// revision: 1
// reference: Fragopoulou & Akl 1993, section 3; Fragopoulou & Akl 1996, Lemma 7

// Of a symmetric schedule on S_n or Q_d no two sources meet on a link in a step where all ``units`` are 1.
MATCH (s:Schedule {id: $schedule})
CALL (s) {
  MATCH (sender)-[e:SEND WHERE e.schedule = s.id AND e.step >= 1]->()
  RETURN e.step AS step, e.port AS dimension, count(DISTINCT sender) AS links, count(*) AS units
  UNION ALL
  // A one-port schedule may leave a step empty.
  UNWIND range(1, s.steps) AS step
  RETURN step, null AS dimension, null AS links, null AS units
}
WITH step, dimension, links, units
ORDER BY step, dimension
RETURN step, collect(dimension) AS dimensions, collect(links) AS links, collect(units) AS units
ORDER BY step
