// Testbench of run_patches: pictures of chance with patches of all shapes, as runs in raster order
// with pauses; the patches that are given against a flood of each one; pictures with more runs than
// there is room for; clears and resets on the way.
#include "axis.hpp"

namespace {

constexpr int width = P_WIDTH, rows = P_ROWS, runs_max = P_RUNS;

struct Run {
  int first, last, row;
};

struct Patch {
  int area = 0, left = width, right = -1, top = rows, bottom = -1;
  void add(const Run& run) {
    area += run.last - run.first + 1;
    left = std::min(left, run.first);
    right = std::max(right, run.last);
    top = std::min(top, run.row);
    bottom = std::max(bottom, run.row);
  }
};

using Picture = std::vector<std::vector<bool>>;

// Noise, combs that meet below or above, stairs, rings in each other, a board of squares, blots.
Picture picture(tb::Random& random) {
  Picture marks(rows, std::vector<bool>(width, false));
  const unsigned kind = unsigned(random.between(0, 7)), share = unsigned(random.between(2, 70));
  const int step = int(random.between(2, 6)), bend = int(random.between(0, rows - 1));
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < width; x++) {
      const int ring = std::min(std::min(x, y), std::min(width - 1 - x, rows - 1 - y));
      switch (kind) {
        case 0: marks[y][x] = random.percent(share); break;
        case 1: marks[y][x] = x % step == 0 || y == rows - 1; break;
        case 2: marks[y][x] = x % step == 0 || y == bend; break;
        case 3: marks[y][x] = (x + step * y) % (2 * step) < step; break;
        case 4: marks[y][x] = ring % 2 == 0; break;
        case 5: marks[y][x] = (x + y) % 2 == 0; break;
        // Arms that join one after the other, from the right: long ways to the patch.
        case 6: marks[y][x] = x % 2 == 0 || (y > 0 && x > width - 2 * y); break;
        default: break;
      }
    }
  if (kind >= 6)
    for (unsigned blots = unsigned(random.between(0, 12)); blots > 0; blots--) {
      const int x0 = int(random.between(0, width - 1)), y0 = int(random.between(0, rows - 1));
      const int w = int(random.between(1, 9)), h = int(random.between(1, 9));
      const bool mark = random.percent(80);
      for (int y = y0; y < std::min(rows, y0 + h); y++)
        for (int x = x0; x < std::min(width, x0 + w); x++) marks[y][x] = mark;
    }
  return marks;
}

std::vector<Run> runs_of(const Picture& marks) {
  std::vector<Run> runs;
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < width; x++) {
      if (!marks[y][x]) continue;
      if (x > 0 && marks[y][x - 1]) runs.back().last = x;
      else runs.push_back({x, x, y});
    }
  return runs;
}

// Floods from each run in turn.
std::vector<Patch> patches_of(const std::vector<Run>& runs) {
  std::vector<Patch> patches;
  std::vector<bool> seen(runs.size(), false);
  for (size_t i = 0; i < runs.size(); i++) {
    if (seen[i]) continue;
    Patch patch;
    std::vector<size_t> open{i};
    seen[i] = true;
    while (!open.empty()) {
      const Run run = runs[open.back()];
      open.pop_back();
      patch.add(run);
      for (size_t j = 0; j < runs.size(); j++) {
        const Run& other = runs[j];
        if (seen[j] || std::abs(other.row - run.row) != 1) continue;
        if (other.first > run.last + 1 || run.first > other.last + 1) continue;
        seen[j] = true;
        open.push_back(j);
      }
    }
    patches.push_back(patch);
  }
  return patches;
}

}  // namespace

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  const unsigned stalls = unsigned(options.number("stalls", 30));
  uint64_t given = 0, cut = 0, longest = 0;
  dut.s_valid = dut.start = dut.m_ready = dut.clear = 0;
  const auto step = [&] { tb::step(bench, nobody, nothing); };
  const auto send = [&](const Run& run) {
    while (random.percent(stalls)) step();
    dut.s_first = unsigned(run.first);
    dut.s_last = unsigned(run.last);
    dut.s_row = unsigned(run.row);
    dut.s_valid = 1;
    bench.settle();
    for (int waits = 0; !dut.s_ready; waits++) {
      step();
      bench.settle();
      if (waits > 100000) tb::fail("a run is never taken");
    }
    step();
    dut.s_valid = 0;
    bench.settle();
    uint64_t cycles = 1;
    if (stalls == 0)
      for (; !dut.idle; cycles++) {
        step();
        bench.settle();
      }
    longest = std::max(longest, cycles);
  };
  tb::reset(bench, nobody, nothing);
  for (uint64_t round = options.number("rounds", 300); round > 0; round--) {
    std::vector<Run> runs = runs_of(picture(random));
    if (random.percent(10)) {
      // Some of a picture, and then another one.
      for (size_t i = random.between(0, 40); i > 0 && i <= runs.size(); i--) send(runs[i - 1]);
      if (random.percent(50)) {
        tb::reset(bench, nobody, nothing);
      } else {
        dut.clear = 1;
        step();
        dut.clear = 0;
      }
    }
    for (const Run& run : runs) send(run);
    if (runs.size() > size_t(runs_max)) {
      runs.resize(size_t(runs_max));
      cut += 1;
    }
    bench.settle();
    for (int waits = 0; !dut.idle; waits++) {
      step();
      bench.settle();
      if (waits > 100000) tb::fail("it is never idle");
    }
    dut.start = 1;
    step();
    dut.start = 0;
    for (const Patch& patch : patches_of(runs)) {
      bench.settle();
      for (int waits = 0; !dut.m_valid; waits++) {
        if (dut.ended) tb::fail("a patch is missing");
        dut.m_ready = random.percent(50);
        step();
        bench.settle();
        if (waits > runs_max + 10) tb::fail("no patch is given");
      }
      dut.m_ready = 0;
      while (random.percent(stalls)) step();
      bench.settle();
      if (!dut.m_valid || int(dut.m_area) != patch.area || int(dut.m_left) != patch.left ||
          int(dut.m_right) != patch.right || int(dut.m_top) != patch.top ||
          int(dut.m_bottom) != patch.bottom)
        tb::fail("a patch of %u pixels, columns %u to %u, rows %u to %u, is not one of %d, %d to %d, "
                 "%d to %d", unsigned(dut.m_area), unsigned(dut.m_left), unsigned(dut.m_right),
                 unsigned(dut.m_top), unsigned(dut.m_bottom), patch.area, patch.left, patch.right,
                 patch.top, patch.bottom);
      dut.m_ready = 1;
      step();
      dut.m_ready = 0;
      given += 1;
    }
    bench.settle();
    for (int waits = 0; !dut.ended; waits++) {
      if (dut.m_valid) tb::fail("a patch too many");
      dut.m_ready = 1;
      step();
      bench.settle();
      if (waits > runs_max + 10) tb::fail("it does not end");
    }
    dut.m_ready = 0;
    dut.clear = 1;
    step();
    dut.clear = 0;
  }
  tb::report("given", given);
  tb::report("cut", cut);
  tb::report("longest", longest);
  return 0;
}
