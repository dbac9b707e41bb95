// Testbench of event_count: events by chance and resets, against a count without an end.
#include "axis.hpp"

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  Vdut& dut = *bench.dut;
  constexpr uint64_t highest = P_COUNT_WIDTH == 64 ? ~0ull : (1ull << P_COUNT_WIDTH) - 1;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  dut.happened = 0;
  tb::reset(bench, nobody, nothing);
  uint64_t events = 0, full = 0, resets = 0;
  const uint64_t cycles = options.number("cycles", 20000);
  for (uint64_t i = 0; i < cycles; i++) {
    dut.happened = bench.random.percent(60);
    dut.rst = bench.random.percent(1) && bench.random.percent(50);
    events = dut.rst ? 0 : events + dut.happened;
    resets += dut.rst;
    tb::step(bench, nobody, nothing);
    const uint64_t expected = std::min(events, highest);
    full += events > highest;
    if (dut.count != expected)
      tb::fail("the count is %llu instead of %llu", (unsigned long long)dut.count,
               (unsigned long long)expected);
  }
  tb::report("full", full);
  tb::report("resets", resets);
}
