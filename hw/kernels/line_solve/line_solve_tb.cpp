// Testbench of line_solve: sums of points of chance, few and many, and of a full view; each kind of
// solution against the same in 128 bits; resets in between.
#include "axis.hpp"

namespace {

using Wide = __int128;

struct Sums {
  Wide n[5] = {}, x[3] = {};
  void add(int64_t s, int64_t x2) {
    Wide power = 1;
    for (int i = 0; i < 5; i++) {
      n[i] += power;
      if (i < 3) x[i] += power * x2;
      power *= s;
    }
  }
};

int64_t nearest(Wide numerator, Wide denominator) {
  const Wide size = numerator < 0 ? -numerator : numerator;
  Wide found = (2 * size + denominator) / (2 * denominator);
  if (found > (1 << 23) - 1) found = (1 << 23) - 1;
  return int64_t(numerator < 0 ? -found : found);
}

void solve(const Sums& sums, unsigned wanted, int64_t (&k)[3]) {
  const Wide *n = sums.n, *x = sums.x;
  const Wide m0 = n[2] * n[0] - n[1] * n[1], m1 = n[3] * n[0] - n[2] * n[1];
  const Wide m2 = n[3] * n[1] - n[2] * n[2];
  if (wanted == 3) {
    const Wide m3 = n[4] * n[0] - n[2] * n[2], m4 = n[4] * n[1] - n[3] * n[2];
    const Wide m5 = n[4] * n[2] - n[3] * n[3];
    const Wide d = m0 * n[4] - m1 * n[3] + m2 * n[2];
    const Wide a = m0 * x[2] - m1 * x[1] + m2 * x[0];
    const Wide b = m3 * x[1] - m1 * x[2] - m4 * x[0];
    const Wide c = m2 * x[2] - m4 * x[1] + m5 * x[0];
    k[0] = nearest(a * (Wide(1) << 27), d);
    k[1] = nearest(b * (Wide(1) << 17), d);
    k[2] = nearest(c * (Wide(1) << 7), d);
    return;
  }
  const Wide y0 = x[0] * (1 << 27) - k[0] * n[2], y1 = x[1] * (1 << 27) - k[0] * n[3];
  if (wanted == 2) {
    k[1] = nearest(n[0] * y1 - n[1] * y0, m0 * (1 << 10));
    k[2] = nearest(n[2] * y0 - n[1] * y1, m0 * (1 << 20));
  } else if (wanted == 1) {
    k[2] = nearest(y0 - Wide(k[1]) * 1024 * n[1], n[0] * (1 << 20));
  }
}

}  // namespace

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  const uint64_t solutions = options.number("solutions", 1500);
  uint64_t longest[4] = {}, limits = 0;
  const auto signed_of = [](uint64_t value, unsigned bits) {
    return int64_t(value << (64 - bits)) >> (64 - bits);
  };
  dut.start = 0;
  tb::reset(bench, nobody, nothing);
  for (uint64_t i = 0; i < solutions; i++) {
    Sums sums;
    // A line with noise, or chance; in some rows, in many, in all of them.
    const int64_t first = random.between(0, 900), span = random.between(2, 959);
    const int64_t base = random.between(0, 1278), slope = int64_t(random.between(0, 600)) - 300;
    const unsigned each = random.between(1, 8), gap = random.between(1, 40);
    const bool chance = random.percent(30), full = i % 50 == 7;
    std::vector<int64_t> rows;
    for (int64_t s = full ? 0 : first; s <= (full ? 959 : std::min<int64_t>(959, first + span));
         s += full ? 1 : gap) {
      for (unsigned j = 0; j < (full ? 8 : each); j++) {
        int64_t x2 = chance ? int64_t(random.between(0, 1278))
                            : base + slope * s / 960 + int64_t(random.between(0, 40)) - 20;
        if (full) x2 = 1278 - int64_t(j) * int64_t(random.between(0, 1));
        sums.add(s, std::clamp<int64_t>(x2, 0, 1278));
      }
      rows.push_back(s);
    }
    const unsigned most = rows.size() >= 3 ? 3 : rows.size() == 2 ? 2 : 1;
    const unsigned wanted = random.between(0, most);
    const bool extreme = random.percent(10);
    int64_t k[3];
    for (int64_t& it : k)
      it = extreme ? (random.percent(50) ? 1 : -1) * ((1 << 23) - 1)
                   : int64_t(random.between(0, 200000)) - 100000;
    dut.n0 = uint32_t(sums.n[0]);
    dut.n1 = uint32_t(sums.n[1]);
    dut.n2 = uint64_t(sums.n[2]);
    dut.n3 = uint64_t(sums.n[3]);
    dut.n4 = uint64_t(sums.n[4]);
    dut.x0 = uint32_t(sums.x[0]);
    dut.x1 = uint64_t(sums.x[1]);
    dut.x2 = uint64_t(sums.x[2]);
    dut.given_k0 = uint32_t(k[0]) & 0xffffff;
    dut.given_k1 = uint32_t(k[1]) & 0xffffff;
    dut.given_k2 = uint32_t(k[2]) & 0x3ffffff;
    dut.wanted = wanted;
    solve(sums, wanted, k);
    for (const int64_t it : k) limits += it == (1 << 23) - 1 || it == -((1 << 23) - 1);
    if (random.percent(2)) {
      // Something is under way, and a reset takes it.
      dut.start = 1;
      tb::step(bench, nobody, nothing);
      dut.start = 0;
      for (unsigned j = random.between(0, 300); j > 0; j--) tb::step(bench, nobody, nothing);
      tb::reset(bench, nobody, nothing);
    }
    dut.start = 1;
    tb::step(bench, nobody, nothing);
    dut.start = 0;
    uint64_t cycles = 1;
    while (!dut.done) {
      // A start in between does nothing.
      dut.start = random.percent(5);
      tb::step(bench, nobody, nothing);
      dut.start = 0;
      bench.settle();
      if (++cycles > 2000) tb::fail("it does not end");
    }
    longest[wanted] = std::max(longest[wanted], cycles);
    const int64_t found[3] = {signed_of(dut.k0, 24), signed_of(dut.k1, 24), signed_of(dut.k2, 26)};
    for (int j = 0; j < 3; j++)
      if (found[j] != k[j])
        tb::fail("solution %llu, wanted %u: k%d is %lld, not %lld", (unsigned long long)i, wanted,
                 j, (long long)found[j], (long long)k[j]);
    for (unsigned j = random.between(0, 3); j > 0; j--) {
      tb::step(bench, nobody, nothing);
      if (dut.done) tb::fail("it is done twice");
    }
  }
  tb::report("limits", limits);
  tb::report("all", longest[3]);
  tb::report("slope", longest[2]);
  tb::report("base", longest[1]);
}
