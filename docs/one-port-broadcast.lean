/-
One-port broadcasts on star graphs: definitions, a conjecture, and theorems about S_3 and S_4.
The file is in Lean 4, without Mathlib and without imports. The page one-port-conjecture.md explains
what is known about the conjecture.

This file has not been compiled, because Lean could not be installed. It was checked by hand, line
by line. It uses only the core library of Lean 4.15 or newer (`List.Perm`, `List.flatMap`,
`decide +kernel`). A test replays the rounds below in Python.
-/

namespace OnePort

/-- A node of S_n: the list of its symbols, a permutation of 0, .., n-1. -/
abbrev Node := List Nat

/-- The neighbour of a node over a port: it has the symbols at positions 0 and `port` exchanged. -/
def cross (v : Node) (port : Nat) : Node :=
  (v.set 0 (v.getD port 0)).set port (v.getD 0 0)

/-- A round: the nodes that send, each with the port over which it sends. -/
abbrev Round := List (Node × Nat)

/-- The nodes that receive in a round. -/
def receivers (round : Round) : List Node :=
  round.map fun send => cross send.1 send.2

/-- Whether all elements of a list differ. -/
def distinct : List Node → Bool
  | [] => true
  | v :: rest => !rest.contains v && distinct rest

/-- Whether a round is allowed: senders are informed, ports are from 1 to n-1, and no node sends or
receives twice. -/
def allowed (n : Nat) (informed : List Node) (round : Round) : Bool :=
  round.all (fun send => informed.contains send.1 && 0 < send.2 && send.2 < n)
    && distinct (round.map fun send => send.1) && distinct (receivers round)

/-- The nodes that are informed after some rounds, or `none` if a round is not allowed. -/
def run (n : Nat) : List Node → List Round → Option (List Node)
  | informed, [] => some informed
  | informed, round :: rest =>
    if allowed n informed round then run n (informed ++ receivers round) rest else none

/-- The rounds are allowed, and inform every node of S_n. At the start, only the node 0, .., n-1 is
informed. -/
def Broadcasts (n : Nat) (rounds : List Round) : Prop :=
  ∃ informed, run n [List.range n] rounds = some informed
    ∧ ∀ v : Node, v.Perm (List.range n) → v ∈ informed

/-- n! -/
def factorial : Nat → Nat
  | 0 => 1
  | n + 1 => (n + 1) * factorial n

/-- For every n >= 3 except 5, a broadcast on S_n takes at most ceil(log2 n!) rounds. Fewer rounds
cannot inform n! nodes, since a round at most doubles the number of informed nodes. -/
def Conjecture : Prop :=
  ∀ n : Nat, 3 ≤ n → n ≠ 5 →
    ∃ rounds : List Round, 2 ^ (rounds.length - 1) < factorial n ∧ Broadcasts n rounds

/-- All lists that result from inserting the symbol `a` into a list at one position. -/
def insertions (a : Nat) : Node → List Node
  | [] => [[a]]
  | b :: rest => (a :: b :: rest) :: (insertions a rest).map (b :: ·)

/-- All permutations of a list. -/
def arrangements : Node → List Node
  | [] => [[]]
  | a :: rest => (arrangements rest).flatMap (insertions a)

/-- Whether the rounds are allowed and inform all permutations that `arrangements` lists. Unlike
`Broadcasts`, this function can be evaluated. -/
def check (n : Nat) (rounds : List Round) : Bool :=
  match run n [List.range n] rounds with
  | some informed => (arrangements (List.range n)).all informed.contains
  | none => false

/-- The record one-port-broadcast:S3. -/
def rounds3 : List Round :=
  [
    [([0,1,2],1)],
    [([1,0,2],2), ([0,1,2],2)],
    [([2,0,1],1), ([2,1,0],1)]]

/-- The record one-port-broadcast:S4. -/
def rounds4 : List Round :=
  [
    [([0,1,2,3],1)],
    [([0,1,2,3],2), ([1,0,2,3],3)],
    [([1,0,2,3],2), ([3,0,2,1],2), ([2,1,0,3],3), ([0,1,2,3],3)],
    [([2,0,1,3],1), ([2,0,3,1],1), ([3,0,2,1],1), ([2,1,0,3],1), ([3,1,0,2],1), ([3,1,2,0],1)],
    [([3,1,0,2],2), ([1,3,0,2],2), ([2,0,3,1],3), ([0,2,3,1],3), ([3,1,2,0],2), ([0,3,2,1],2),
     ([1,3,2,0],2), ([2,0,1,3],3), ([1,2,0,3],3), ([0,2,1,3],3)]]

-- The kernel evaluates `check`, because the elaborator would reach its recursion limit on S_4.
theorem star3 : check 3 rounds3 = true ∧ 2 ^ (rounds3.length - 1) < factorial 3 := by decide +kernel

theorem star4 : check 4 rounds4 = true ∧ 2 ^ (rounds4.length - 1) < factorial 4 := by decide +kernel

end OnePort
