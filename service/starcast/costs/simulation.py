"""What an execution took, priced."""

from fractions import Fraction

from starcast.costs.machine import Cost, Machine
from starcast.simulator import Simulation


def simulated(simulation: Simulation, unit: Fraction, machine: Machine) -> Cost:
    """What an execution took: each step lasts as long as its largest packet, of units of ``unit`` bytes."""
    carried = int(simulation.packet_sizes.sum()) * Fraction(unit)
    return Cost(
        steps=simulation.steps,
        start_ups=Fraction(simulation.steps),
        bytes=carried,
        transmissions=simulation.transmissions,
        time=simulation.steps * machine.T_s + carried * machine.T_c,
        source="simulated",
    )
