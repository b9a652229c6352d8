"""The tables of Tseng & Sheu 1997 that compare the costs of algorithms."""

from pathlib import Path

from ..common.cost_tables import read_tables

TABLES = read_tables(Path(__file__).with_name("cost_tables.toml"))
