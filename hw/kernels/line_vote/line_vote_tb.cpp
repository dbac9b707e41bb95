// Testbench of line_vote: points of chance and points along lines, with gaps, for chance curvatures
// and origins; after each scan the best of all slopes against a reference; resets in between.
#include "axis.hpp"

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  const uint64_t rounds = options.number("rounds", 400);
  constexpr int slopes = P_SLOPES, bins = P_BINS;
  uint64_t voted = 0;
  dut.s_valid = dut.scan = 0;
  const auto settled = [&] {
    unsigned cycles = 0;
    while (dut.scanning) {
      tb::step(bench, nobody, nothing);
      bench.settle();
      if (++cycles > bins + 1) tb::fail("a scan does not end");
    }
  };
  tb::reset(bench, nobody, nothing);
  settled();
  for (uint64_t round = 0; round < rounds; round++) {
    if (random.percent(5)) {
      tb::reset(bench, nobody, nothing);
      settled();
    }
    const int i = int(random.between(0, 31)) - 16;
    const int origin = round % 30 == 5 ? int(random.between(0, 200000)) - 100000
                                       : int(random.between(0, 900)) - 300;
    dut.i = uint32_t(i) & 31;
    dut.origin = uint32_t(origin) & 0x7ffff;
    std::vector<std::array<int, bins + 1>> votes(2 * slopes + 1);
    for (auto& it : votes) it.fill(0);
    const int line = int(random.between(0, 1000)), drift = int(random.between(0, 400)) - 200;
    for (unsigned points = random.between(0, 300); points > 0; points--) {
      const int s = int(random.between(0, 1023));
      int x2 = random.percent(40) ? int(random.between(0, 2047)) : line + drift * s / 512;
      x2 = std::clamp(x2, 0, 2047);
      dut.s_row = uint32_t(s);
      dut.s_x2 = uint32_t(x2);
      dut.s_valid = 1;
      tb::step(bench, nobody, nothing);
      dut.s_valid = 0;
      for (int lane = 0; lane <= 2 * slopes; lane++) {
        const int offset = x2 / 2 - (i * s * s >> 15) - ((lane - slopes) * s >> 5) - origin;
        if (offset >= 0 && offset < 8 * bins) {
          votes[size_t(lane)][size_t(offset / 8)] += 1;
          voted += 1;
        }
      }
      while (random.percent(20)) tb::step(bench, nobody, nothing);
    }
    for (int cycle = 0; cycle < 4; cycle++) tb::step(bench, nobody, nothing);
    dut.scan = 1;
    tb::step(bench, nobody, nothing);
    dut.scan = 0;
    bench.settle();
    if (!dut.scanning) tb::fail("no scan begins");
    settled();
    for (int lane = 0; lane <= 2 * slopes; lane++) {
      int best = 0, bin = -1;
      for (int at = 0; at < bins; at++) {
        const int sum = votes[size_t(lane)][size_t(at)] + votes[size_t(lane)][size_t(at) + 1];
        if (sum > best) {
          best = sum;
          bin = at;
        }
      }
      dut.choose = uint32_t(lane);
      bench.settle();
      if (int(dut.m_votes) != best || (bin >= 0 && int(dut.m_bin) != bin))
        tb::fail("slope %d: %u votes in bin %u, not %d in %d", lane - slopes, unsigned(dut.m_votes),
                 unsigned(dut.m_bin), best, bin);
    }
  }
  tb::report("voted", voted);
}
