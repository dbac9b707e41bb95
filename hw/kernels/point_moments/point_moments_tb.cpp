// Testbench of point_moments: points of chance and points near a parabola, with gaps, against the
// sums of 128 bits; points that are only looked at; clears in between.
#include "axis.hpp"

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  const uint64_t rounds = options.number("rounds", 300);
  uint64_t near = 0, far = 0;
  const auto chance = [&](int64_t size) { return int64_t(random.between(0, 2 * size)) - size; };
  dut.s_valid = dut.s_counts = dut.clear = 0;
  tb::reset(bench, nobody, nothing);
  for (uint64_t round = 0; round < rounds; round++) {
    const bool extreme = round % 20 == 3;
    const int64_t most = (1 << 23) - 1;
    const int64_t k0 = extreme ? most : chance(90000), k1 = extreme ? -most : chance(60000);
    const int64_t k2 = extreme ? most + 81920 : 256 * int64_t(random.between(0, 639)) + chance(300);
    const int64_t margin = int64_t(random.between(1, 63));
    const auto at = [&](int64_t s) { return ((k0 * s + k1 * 1024) * s >> 20) + k2; };
    dut.k0 = uint32_t(k0) & 0xffffff;
    dut.k1 = uint32_t(k1) & 0xffffff;
    dut.k2 = uint32_t(k2) & 0x3ffffff;
    dut.margin = uint32_t(margin);
    dut.clear = 1;
    tb::step(bench, nobody, nothing);
    dut.clear = 0;
    __int128 n[5] = {}, x[3] = {};
    int64_t first = 1023, last = 0, bands = 0;
    std::deque<std::pair<uint64_t, int64_t>> looks;   // when a column stands, and which
    const auto look = [&] {
      if (looks.empty() || looks.front().first != bench.cycle) return;
      const int64_t found = int64_t(uint64_t(dut.at) << 37) >> 37;
      if (found != looks.front().second) tb::fail("the column is %lld, not %lld",
          (long long)found, (long long)looks.front().second);
      looks.pop_front();
    };
    for (unsigned points = random.between(0, round % 10 == 0 ? 8000 : 300); points > 0; points--) {
      const int64_t s = int64_t(random.between(0, 959));
      // Inside, at the edge, outside.
      int64_t x2 = at(s) / 128 + chance(2 * margin + 4);
      if (x2 < 0 || x2 > 2047 || random.percent(20)) x2 = int64_t(random.between(0, 1278));
      const bool counts = !random.percent(10);
      dut.s_row = uint32_t(s);
      dut.s_x2 = uint32_t(x2);
      dut.s_valid = 1;
      dut.s_counts = counts;
      looks.emplace_back(bench.cycle + 3, at(s));
      tb::step(bench, nobody, nothing, look);
      dut.s_valid = dut.s_counts = 0;
      if (counts && std::abs(x2 * 128 - at(s)) <= margin * 256) {
        __int128 power = 1;
        for (int i = 0; i < 5; i++) {
          n[i] += power;
          if (i < 3) x[i] += power * x2;
          power *= s;
        }
        first = std::min(first, s);
        last = std::max(last, s);
        bands |= 1 << (s / 60);
        near += 1;
      } else {
        far += 1;
      }
      // What is not valid counts nothing, whatever it is.
      dut.s_row = uint32_t(random.between(0, 959));
      for (; random.percent(20);) {
        dut.s_counts = random.percent(50);
        tb::step(bench, nobody, nothing, look);
      }
      dut.s_counts = 0;
    }
    for (int i = 0; i < 4; i++) tb::step(bench, nobody, nothing, look);
    const uint64_t found[] = {dut.n0, dut.n1, dut.n2, dut.n3, dut.n4, dut.x0, dut.x1, dut.x2};
    for (int i = 0; i < 8; i++)
      if (found[i] != uint64_t(i < 5 ? n[i] : x[i - 5])) tb::fail("sum %d differs", i);
    if (n[0] != 0 && (dut.row_first != first || dut.row_last != last)) tb::fail("rows differ");
    if (dut.bands != bands) tb::fail("bands differ");
    if (random.percent(5)) tb::reset(bench, nobody, nothing);
  }
  tb::report("near", near);
  tb::report("far", far);
}
