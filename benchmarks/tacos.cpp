// Usage: tacos X Y Z. Prints the number of steps of the allgather that TACOS finds on a 3D torus,
// and the processor time of the search in seconds. A chunk of one byte takes one microsecond per
// link, and about a thousandth of a microsecond for its transmission. So the time of the allgather
// in microseconds, rounded down, is the number of steps.
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <tacos/collective/all_gather.h>
#include <tacos/synthesizer/synthesizer.h>
#include <tacos/topology/torus_3d.h>

int main(int, char** sides) {
    const auto torus = tacos::Torus3D(atoi(sides[1]), atoi(sides[2]), atoi(sides[3]), 1.0, 1.0);
    const auto collective = tacos::AllGather(torus.npusCount(), 1);
    auto synthesizer = tacos::Synthesizer();
    const auto start = std::clock();
    const auto time = synthesizer.solve(torus, collective, 1);
    std::cout << static_cast<long>(time) << " "
              << static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC << std::endl;
}
