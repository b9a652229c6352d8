"""Checks of Fragopoulou & Akl 1993: communication on star graphs with spanning trees."""
