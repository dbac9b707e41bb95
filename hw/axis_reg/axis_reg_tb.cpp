// Testbench of axis_reg: messages of random lengths come out as they went in, under random stalls
// and across resets; without stalls one beat per cycle, one cycle late.
#include "axis.hpp"

constexpr size_t bytes = P_WIDTH / 8;

static void run(const tb::Options& options, unsigned stalls, uint64_t messages) {
  tb::Bench bench(options);
  std::deque<tb::Message> expected;
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;
  sources.emplace_back(AXIS_LANE(*bench.dut, s_axis, 0, bytes), tb::Stalls(stalls, 9));
  sinks.emplace_back("output", AXIS_LANE(*bench.dut, m_axis, 0, bytes), tb::Stalls(stalls, 9),
                     [&](const tb::Message& found) { tb::expect_next("output", expected, found); });
  tb::reset(bench, sources, sinks);
  const uint64_t begin = bench.cycle;
  uint64_t beats = 0;
  for (uint64_t i = 0; i < messages; i++) {
    tb::Message message = tb::frame(bench.random, 7, uint32_t(i), bench.random.between(0, 300));
    message.damaged = bench.random.percent(10);
    beats += message.beats(bytes);
    expected.push_back(message);
    sources[0].send(message);
    if (stalls == 0) continue;
    // Now and then a reset in mid-message: nothing of what was inside may appear afterwards.
    const uint64_t pause = bench.random.between(0, 60);
    for (uint64_t c = 0; c < pause; c++) tb::step(bench, sources, sinks);
    if (bench.random.percent(2)) {
      tb::reset(bench, sources, sinks);
      expected.clear();
    }
  }
  const uint64_t bound = bench.cycle + 100 * beats + 1000;
  while (!expected.empty() && bench.cycle < bound) tb::step(bench, sources, sinks);
  if (!expected.empty()) tb::fail("%zu messages did not arrive", expected.size());
  if (stalls == 0) {
    tb::report("beats", beats);
    tb::report("cycles", bench.cycle - begin);
  }
}

int main(int count, char** words) {
  const tb::Options options(count, words);
  run(options, 0, 100);
  run(options, 20, options.number("messages", 1000));
}
