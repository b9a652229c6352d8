"""The judges, which share no code with what they judge: of schedules, and of forests by blocks."""
