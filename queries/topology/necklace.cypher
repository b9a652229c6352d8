// title: Members of a necklace
// question: To which nodes does repeated application of the rotation R map a node of S_n, and after
//     how many rotations is the node itself reached again?
// parameters:
//   topology (topology): name of a star graph; no row for other families
//   node (node): label of the node
// columns:
//   rotations: smallest number of rotations that map the given node to this node
//   rank: rank of this node
//   node (node): label of this node
//   period: number of nodes of the necklace, a divisor of n-1
// cost: looks up a node in the index for each of the n-1 rotations
// revision: 1
// reference: Fragopoulou & Akl 1993, Def. 6; docs/definitions/conventions.md, rotation, necklace

// R moves the symbol in position i to position i+1 (from position n to 2) and replaces symbol s by
// s+1 (n by 2). Position 1 and symbol 1 are fixed. The statement counts positions and symbols from
// 0, because they are indexes of strings.
MATCH (t:Topology {spec: $topology, family: 'star'})
WITH t, '123456789abcdefghijklmnopqrstuvwxyz' AS symbols
UNWIND range(0, t.n - 2) AS turns
WITH t, symbols, turns, [place IN range(0, t.n - 1) |
  substring($node, CASE place WHEN 0 THEN 0 ELSE (place - 1 + t.n - 1 - turns) % (t.n - 1) + 1 END,
    1)] AS moved
WITH t, symbols, turns, [symbol IN moved | size(split(symbols, symbol)[0])] AS numbers
WITH t, turns, reduce(text = '', number IN numbers |
  text + substring(symbols, CASE number WHEN 0 THEN 0 ELSE (number - 1 + turns) % (t.n - 1)
    + 1 END, 1)) AS label
// In a necklace of fewer than n-1 nodes, several rotations give the same node.
WITH t, label, min(turns) AS rotations
MATCH (member:Node {topology: t.spec, label: label})
WITH collect({rotations: rotations, rank: member.rank, label: label}) AS members
UNWIND members AS member
RETURN member.rotations AS rotations, member.rank AS rank, member.label AS node,
  size(members) AS period
ORDER BY rotations
