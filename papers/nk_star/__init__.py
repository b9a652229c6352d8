"""Checks of Li, Chen, Xiang & Yao 2007: broadcast in (n,k)-star graphs with spanning trees."""
