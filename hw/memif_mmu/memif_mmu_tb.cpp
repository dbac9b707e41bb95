// Testbench of memif_mmu: an engine with random bursts on one side, a memory on the other. The
// reference model translates each address from the list of windows by itself.
#include "axi_engine.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr size_t windows = P_WINDOWS;
constexpr uint64_t pages = 64;  // addresses are chosen among so many pages

struct Window {
  uint64_t first = 1, last = 0, offset = 0;
  bool readable = false, writable = false;
};

struct Mmu : tb::AxiEngine {
  std::array<Window, windows> table;

  Mmu(const tb::Options& options, tb::AxiBehaviour behaviour)
      : AxiEngine(options, behaviour, bytes, 2 * pages) {
    bench.dut->window_write = 0;
    reset();
  }
  void set(size_t number, const Window& window) {
    auto& dut = *bench.dut;
    dut.window_write = 1;
    dut.window_number = number;
    dut.window_first = window.first;
    dut.window_last = window.last;
    dut.window_offset = window.offset;
    dut.window_readable = window.readable;
    dut.window_writable = window.writable;
    step();
    dut.window_write = 0;
    table[number] = window;
  }
  int64_t translate(uint64_t page, bool write) const override {
    for (const Window& window : table)
      if ((write ? window.writable : window.readable) && page >= window.first
          && page <= window.last)
        return int64_t((page + window.offset) & ((1ull << (P_ADDRESS_WIDTH - 12)) - 1));
    return -1;
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  {
    // Linear data in bursts of 2 beats, both directions at once: no gap.
    Mmu mmu(options, {40, 40, 0, 1});
    mmu.set(0, {0, pages - 1, 3, true, true});
    for (unsigned i = 0; i < 400; i++) {
      mmu.write(i * 4 * bytes, 4);
      mmu.read(i * 4 * bytes, 4);
    }
    mmu.finish();
    tb::report("read_beats", mmu.read_beats);
    tb::report("read_cycles", mmu.last_beat - mmu.first_beat + 1);
    tb::report("write_beats", mmu.writes.beats);
    tb::report("write_cycles", mmu.writes.last_beat - mmu.writes.first_beat + 1);
  }
  Mmu mmu(options, {1, 60, 8, 20});
  auto& random = mmu.bench.random;
  const uint64_t rounds = options.number("rounds", 40);
  for (uint64_t round = 0; round < rounds; round++) {
    for (size_t i = 0; i < windows; i++) {
      const uint64_t first = random.between(0, pages - 1);
      mmu.set(i, {first, first + random.between(0, 8), random.between(0, 20) - 10 * (first > 10),
                  random.percent(80), random.percent(80)});
    }
    for (int i = 0; i < 30; i++) {
      // Mostly where a window begins or ends.
      const Window& window = mmu.table[random.between(0, windows - 1)];
      uint64_t page = random.percent(50) ? window.first : window.last;
      page = (page + random.between(0, 2) + pages - 1) % pages;
      const unsigned beats = random.between(1, 16);
      const uint64_t end = 4096 / bytes;
      const uint64_t from = random.percent(50)
          ? std::min(end - beats + random.between(0, 1), end - 1) : random.between(0, end - 1);
      const uint64_t address = (page << 12) + from * bytes;
      // A burst that crosses the page is one that no engine of the library makes.
      if (random.percent(50)) mmu.write(address, beats);
      else mmu.read(address, beats);
    }
    mmu.finish();
  }
  tb::report("refused", mmu.refused);
  tb::report("passed", mmu.passed);
  // Everything is open; after a reset nothing is, until the host opens it again.
  for (size_t i = 0; i < windows; i++) mmu.set(i, {0, pages - 1, 0, true, true});
  mmu.restart();
  mmu.table = {};
  const uint64_t passed = mmu.passed;
  for (int i = 0; i < 20; i++) {
    const uint64_t address = random.between(0, pages - 1) << 12;
    if (i % 2 == 0) mmu.write(address, 2);
    else mmu.read(address, 2);
  }
  mmu.finish();
  if (mmu.passed != passed) tb::fail("a burst passes after a reset");
}
