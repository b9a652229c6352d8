// title: Members of a necklace
// question: Which nodes does the rotation R turn a node of S_n into, and after how many rotations does it come back?
// parameters:
//   topology (topology): name of a star graph; on other families there is no rotation, and no row
//   node (node): label of the node
// columns:
//   rotations: the least number of rotations that lead from the node to this one
//   rank: rank of this one
//   node (node): its label
//   period: how many nodes the necklace has, a divisor of n-1
// cost: an index look-up for each of the n-1 rotations
// revision: 1
// reference: Fragopoulou & Akl 1993, Def. 6; conventions: rotation, necklace

// R moves what stands in position i to position i+1, from n to 2, and makes symbol s into s+1, n into 2. Position 1 and symbol 1
// stay. Here positions and symbols count from 0, as places in a text.
MATCH (t:Topology {spec: $topology, family: 'star'})
WITH t, '123456789abcdefghijklmnopqrstuvwxyz' AS symbols
UNWIND range(0, t.n - 2) AS turns
WITH t, symbols, turns, [place IN range(0, t.n - 1) |
  substring($node, CASE place WHEN 0 THEN 0 ELSE (place - 1 + t.n - 1 - turns) % (t.n - 1) + 1 END, 1)] AS moved
WITH t, symbols, turns, [symbol IN moved | size(split(symbols, symbol)[0])] AS numbers
WITH t, turns, reduce(text = '', number IN numbers |
  text + substring(symbols, CASE number WHEN 0 THEN 0 ELSE (number - 1 + turns) % (t.n - 1) + 1 END, 1)) AS label
// The necklaces of fewer than n-1 nodes come round several times.
WITH t, label, min(turns) AS rotations
MATCH (member:Node {topology: t.spec, label: label})
WITH collect({rotations: rotations, rank: member.rank, label: label}) AS members
UNWIND members AS member
RETURN member.rotations AS rotations, member.rank AS rank, member.label AS node, size(members) AS period
ORDER BY rotations
