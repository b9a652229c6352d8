"""What collectives cost by the papers' closed forms, what no schedule can beat, and what a simulation really took.

Times are exact rationals: a packet of b bytes takes T_s + b T_c, so every cost is ``start_ups * T_s + bytes * T_c``. The
notation is that of docs/definitions/tseng-sheu.md, A6: m bytes a message, p segments a tree, M unit messages, h the height, and
D_n = floor(3(n-1)/2).
"""

from starcast.costs.bounds import lower_bound
from starcast.costs.counts import greatest_proper_divisor, multiple_height
from starcast.costs.forms import FORMS, best_share, closed_form, unit_bytes
from starcast.costs.machine import Cost, Machine
from starcast.costs.simulation import simulated

__all__ = [
    "FORMS",
    "Cost",
    "Machine",
    "best_share",
    "closed_form",
    "greatest_proper_divisor",
    "lower_bound",
    "multiple_height",
    "simulated",
    "unit_bytes",
]
