// Prints the collective time that TACOS finds for an allgather on a 3D torus, in steps, and its
// processor time in seconds: tacos X Y Z. A chunk of one byte takes one microsecond per link, up to
// the thousandth that its transmission takes.
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
