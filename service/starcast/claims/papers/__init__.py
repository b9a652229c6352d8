"""The statements of the papers and what looks at them, a module for each family that shares what it builds."""
