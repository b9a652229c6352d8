"""Checks of Fragopoulou & Akl 1996: edge-disjoint spanning trees and fault tolerance."""
