"""Independent checkers: the simulator for schedules, and block verification for forests."""
