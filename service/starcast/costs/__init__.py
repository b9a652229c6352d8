"""Costs of collectives: formulas from the papers, lower bounds, and simulated costs.

Times are exact rational numbers. On links without latency and of capacity 1, a packet of b bytes
takes T_s + b T_c, so the time of a collective is ``start_ups * T_s + bytes * T_c``. The symbols
come from docs/definitions/tseng-sheu.md, A6: m bytes per message (``message_bytes``), p segments
per tree (``segments``), M unit messages (``messages``), the start-up time T_s and the time T_c per
byte (``t_s``, ``t_c``), the tree height h, and the diameter D_n = floor(3(n-1)/2) of S_n.
"""

from starcast.costs.forms import FORMS, closed_form, optimal_pieces, unit_bytes
from starcast.costs.model import (
    Cost,
    CriticalWork,
    Machine,
    bottleneck_cut,
    concurrent_flow,
    execute_in_model,
    lower_bound,
    price_simulation,
)
from starcast.costs.pipelines import greatest_proper_divisor, multiple_height

__all__ = [
    "FORMS",
    "Cost",
    "CriticalWork",
    "Machine",
    "bottleneck_cut",
    "closed_form",
    "concurrent_flow",
    "execute_in_model",
    "greatest_proper_divisor",
    "lower_bound",
    "multiple_height",
    "optimal_pieces",
    "price_simulation",
    "unit_bytes",
]
