// Testbench of pixel_hsv: all colours, whose hues, saturations and values have the checksum that
// the software has (apps/autorace/src/hsv.rs), and which of them lie in the two ranges; with stops
// in between.
#include "axis.hpp"

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  const unsigned stops = unsigned(options.number("stops", 0));
  struct Range {
    uint64_t low, high;
    bool has(const unsigned (&hsv)[3]) const {
      const auto at = [](uint64_t range, int byte) { return unsigned(range >> 8 * byte & 255); };
      for (int i = 0; i < 2; i++)
        if (hsv[i] < at(low, i) || hsv[i] > at(high, i)) return false;
      const bool above = hsv[2] >= at(low, 2), below = hsv[2] <= at(high, 2);
      return at(low, 2) > at(high, 2) ? above || below : above && below;
    }
  };
  const Range range = {options.number("low", 0), options.number("high", 0)};
  const Range other = {options.number("other-low", 0), options.number("other-high", 0)};
  uint64_t sum = 0xcbf29ce484222325, sent = 0, seen = 0, inside = 0;
  constexpr uint64_t colours = 1 << 24;
  dut.rst = 1;
  dut.move = 1;
  dut.s_valid = 0;
  for (int i = 0; i < 4; i++) {
    dut.clk = 0;
    bench.settle();
    dut.clk = 1;
    bench.settle();
  }
  dut.rst = 0;
  while (seen < colours) {
    dut.clk = 0;
    dut.move = stops == 0 || !random.percent(stops);
    dut.s_valid = sent < colours;
    // Blue counts fastest, and is the highest byte.
    dut.s_pixel = uint32_t((sent >> 16 & 255) | (sent & 0xff00) | (sent & 255) << 16);
    bench.settle();
    if (dut.move && dut.m_valid) {
      const unsigned hsv[3] = {dut.m_value, dut.m_saturation, dut.m_hue};
      for (int i = 2; i >= 0; i--) sum = (sum ^ hsv[i]) * 0x100000001b3;
      if (range.has(hsv) != (dut.m_inside != 0) || other.has(hsv) != (dut.m_other != 0))
        tb::fail("colour %llu: inside", (unsigned long long)seen);
      inside += range.has(hsv);
      seen += 1;
    }
    if (dut.move && dut.s_valid) sent += 1;
    dut.clk = 1;
    bench.settle();
    if (++bench.cycle > 3 * colours) tb::fail("it stands still");
  }
  tb::report("sum", sum);
  tb::report("inside", inside);
}
