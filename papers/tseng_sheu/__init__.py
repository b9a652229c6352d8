"""Checks of Tseng & Sheu 1997: broadcast in a star graph along multiple spanning trees."""
