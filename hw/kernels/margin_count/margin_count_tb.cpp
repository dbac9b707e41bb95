// Testbench of margin_count: pictures of chance, boxes of chance with margins that end in the picture
// or beside it; each count against one pixel by pixel; clears in mid-picture, and more marks than
// there is room for.
#include "axis.hpp"

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  constexpr int width = P_WIDTH, height = P_HEIGHT;
  const auto step = [&] { tb::step(bench, nobody, nothing); };
  uint64_t counted = 0, edges = 0;
  dut.s_valid = dut.start = dut.clear = 0;
  tb::reset(bench, nobody, nothing);
  for (uint64_t round = options.number("rounds", 60); round > 0; round--) {
    if (random.percent(30)) {
      // Some of another picture.
      for (uint64_t beats = random.between(1, width * height / 8); beats > 0; beats--) {
        dut.s_marks = uint8_t(random.next());
        dut.s_valid = 1;
        step();
      }
      dut.s_valid = 0;
      dut.clear = 1;
      step();
      dut.clear = 0;
    }
    std::vector<uint8_t> marks(size_t(width * height / 8));
    for (auto& it : marks) it = uint8_t(random.percent(50) ? random.next() : random.percent(50) ? 0 : 255);
    const auto send = [&](uint8_t byte) {
      while (random.percent(20)) step();
      dut.s_marks = byte;
      dut.s_valid = 1;
      step();
      dut.s_valid = 0;
      dut.s_marks = uint8_t(random.next());
    };
    for (uint8_t byte : marks) send(byte);
    for (uint64_t more = random.between(0, 3); more > 0; more--) send(uint8_t(random.next()));
    for (int boxes = 0; boxes < 30; boxes++) {
      int left = int(random.between(0, width - 1)), right = int(random.between(0, width - 1));
      int top = int(random.between(0, height - 1)), bottom = int(random.between(0, height - 1));
      if (left > right) std::swap(left, right);
      if (top > bottom) std::swap(top, bottom);
      const int reach = int(random.percent(10) ? random.between(0, 4095) : random.between(0, 9));
      const int from_x = std::max(0, left - reach), to_x = std::min(width - 1, right + reach);
      const int from_y = std::max(0, top - reach), to_y = std::min(height - 1, bottom + reach);
      unsigned all = 0, marked = 0;
      for (int y = from_y; y <= to_y; y++)
        for (int x = from_x; x <= to_x; x++) {
          if (y >= top && y <= bottom && x >= left && x <= right) continue;
          all += 1;
          marked += marks[size_t(y * width + x) / 8] >> (x % 8) & 1;
        }
      dut.left = unsigned(left);
      dut.right = unsigned(right);
      dut.top = unsigned(top);
      dut.bottom = unsigned(bottom);
      dut.reach = unsigned(reach);
      dut.start = 1;
      bench.settle();
      if (boxes == 0 && dut.done) tb::fail("done before a start");
      step();
      dut.start = 0;
      // Only the start looks at the box.
      dut.left = dut.right = dut.top = dut.bottom = 0;
      const int most = (to_x / 8 - from_x / 8 + 1) * (to_y - from_y + 1) + 2;
      int cycles = 1;
      for (bench.settle(); !dut.done; cycles++) {
        if (cycles > most) tb::fail("a count of %d cycles", cycles);
        step();
        bench.settle();
      }
      if (dut.m_all != all || dut.m_marked != marked)
        tb::fail("%u of %u, not %u of %u", unsigned(dut.m_marked), unsigned(dut.m_all), marked, all);
      while (random.percent(20)) step();
      bench.settle();
      if (!dut.done || dut.m_all != all || dut.m_marked != marked) tb::fail("a count does not stand");
      counted += 1;
      edges += from_x > left - reach || to_y < bottom + reach;
    }
    dut.clear = 1;
    step();
    dut.clear = 0;
  }
  tb::report("counted", counted);
  tb::report("edges", edges);
  return 0;
}
