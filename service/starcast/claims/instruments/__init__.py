"""What checks look with: definitions of the papers written out anew, counts, searches, and exact arithmetic."""
