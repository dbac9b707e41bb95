// Testbench of byte_gear: beats of chance lengths in and out, stalls on both sides, clears and
// resets, against a queue of bytes; and how many cycles full beats take with a byte between them.
#include "axis.hpp"

#ifndef P_M_BYTES
#define P_M_BYTES 8
#endif

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  const unsigned stalls = unsigned(options.number("stalls", 30));
  const uint64_t beats = options.number("beats", 20000);
  std::deque<uint8_t> inside;
  uint64_t taken = 0, given = 0, cycles = 0;
  dut.clear = 0;
  // Beats that leave are as full as they can be while 8 bytes come per cycle, or as the test says.
  const unsigned want = unsigned(options.number("want", 8));
  dut.want = want;
  dut.s_valid = dut.m_ready = 0;
  tb::reset(bench, nobody, nothing);
  while (given < beats) {
    const bool full = stalls == 0;
    dut.clear = !full && random.between(0, 200) == 0;
    if (!dut.s_valid && !random.percent(stalls)) {
      dut.s_data = random.next();
      // One odd beat in front, so that all others lie over the edges of those that leave.
      dut.s_bytes = full ? (taken == 0 ? 3 : 8) : random.between(1, 8);
      dut.s_valid = 1;
    }
    dut.m_ready = !random.percent(stalls);
    bench.settle();
    const bool in = dut.s_valid && dut.s_ready, out = dut.m_valid && dut.m_ready;
    if (dut.clear && (in || dut.m_valid)) tb::fail("something passes while it is cleared");
    if (out) {
      if (inside.size() < dut.want) tb::fail("%u bytes are wanted and given, but %zu came",
                                             unsigned(dut.want), inside.size());
      const uint8_t* const made = reinterpret_cast<const uint8_t*>(&dut.m_data);
      for (unsigned i = 0; i < P_M_BYTES; i++) {
        const uint8_t wanted = i < dut.want ? inside[i] : 0;
        if (made[i] != wanted) tb::fail("byte %u differs", i);
      }
      inside.erase(inside.begin(), inside.begin() + dut.want);
      given += 1;
    }
    if (in) {
      for (unsigned i = 0; i < dut.s_bytes; i++) inside.push_back(uint8_t(dut.s_data >> 8 * i));
      taken += 1;
    }
    if (dut.clear) inside.clear();
    const bool waits = dut.m_valid && !dut.m_ready;
    tb::step(bench, nobody, nothing);
    if (in) dut.s_valid = 0;
    if (!waits && !full) dut.want = random.between(1, P_M_BYTES);
    if (++cycles > 100 * beats) tb::fail("it stands still");
    if (!full && random.between(0, 2000) == 0) {
      tb::reset(bench, nobody, nothing);
      inside.clear();
    }
  }
  tb::report("cycles", cycles);
}
