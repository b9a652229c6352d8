"""Claims of Sheu, Liaw & Chen 1993: broadcast in a star graph along recursive substars."""
