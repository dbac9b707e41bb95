// Testbench of axis_cdc: messages come out as they went in, for clocks of any two rates with random
// jitter and edges that coincide now and then, with random stalls on both sides and resets.
#include "axis.hpp"

constexpr size_t bytes = P_WIDTH / 8;

struct Crossing {
  tb::Bench bench;
  std::deque<tb::Message> expected;
  tb::Source source;
  tb::Sink sink;
  uint64_t s_period, m_period, jitter;
  uint64_t now = 0, s_next = 0, m_next = 0;
  uint64_t s_cycles = 0, m_cycles = 0;

  Crossing(const tb::Options& options, unsigned stalls, uint64_t s_period, uint64_t m_period,
           uint64_t jitter)
      : bench(options),
        source(AXIS_LANE(*bench.dut, s_axis, 0, bytes), tb::Stalls(stalls, 9)),
        sink("output", AXIS_LANE(*bench.dut, m_axis, 0, bytes), tb::Stalls(stalls, 20),
             [&](const tb::Message& found) { tb::expect_next("output", expected, found); }),
        s_period(s_period), m_period(m_period), jitter(jitter) {
    reset();
  }

  // The next edge of either clock, or of both.
  void edge(bool looking = true) {
    Vdut& dut = *bench.dut;
    now = std::min(s_next, m_next);
    const bool s = s_next == now, m = m_next == now;
    if (s) source.drive(bench.random);
    if (m) sink.drive(bench.random);
    bench.settle();
    bench.record();
    if (s && looking) source.sample();
    if (m && looking) sink.sample();
    dut.s_clk = s;
    dut.m_clk = m;
    bench.settle();
    bench.record();
    dut.s_clk = dut.m_clk = 0;
    bench.settle();
    if (s) s_next = now + s_period + bench.random.between(0, jitter);
    if (m) m_next = now + m_period + bench.random.between(0, jitter);
    s_cycles += s;
    m_cycles += m;
    bench.cycle += 1;
  }

  void reset() {
    source.clear();
    sink.clear();
    expected.clear();
    bench.dut->s_rst = bench.dut->m_rst = 1;
    const uint64_t s_end = s_cycles + 5, m_end = m_cycles + 5;
    while (s_cycles < s_end || m_cycles < m_end) edge(false);
    bench.dut->s_rst = bench.dut->m_rst = 0;
  }
};

static void run(const tb::Options& options, unsigned stalls, uint64_t s_period, uint64_t m_period,
                uint64_t jitter, uint64_t messages, const char* name) {
  Crossing crossing(options, stalls, s_period, m_period, jitter);
  tb::Random& random = crossing.bench.random;
  uint64_t beats = 0;
  const uint64_t begin = crossing.now;
  for (uint64_t i = 0; i < messages; i++) {
    tb::Message message = tb::frame(random, 7, uint32_t(i), random.between(0, 300));
    message.damaged = random.percent(10);
    beats += message.beats(bytes);
    crossing.source.send(message);
    crossing.expected.push_back(message);
    if (stalls == 0) continue;
    for (uint64_t c = random.between(0, 100); c > 0; c--) crossing.edge();
    if (random.percent(2)) crossing.reset();
  }
  uint64_t edges = 0;
  while (!crossing.expected.empty() && edges++ < 2000 * (beats + 10)) crossing.edge();
  if (!crossing.expected.empty()) tb::fail("%zu messages did not arrive", crossing.expected.size());
  if (name == nullptr) return;
  tb::report((std::string(name) + "_beats").c_str(), beats);
  // In cycles of the slower clock.
  tb::report((std::string(name) + "_cycles").c_str(),
             (crossing.now - begin) / std::max(s_period, m_period));
}

int main(int count, char** words) {
  const tb::Options options(count, words);
  const uint64_t messages = options.number("messages", 100);
  run(options, 0, 1000, 1003, 0, 60, "equal");
  run(options, 0, 1000, 3170, 0, 60, "slower");
  run(options, 0, 3170, 1000, 0, 60, "faster");
  run(options, 15, 1000, 1000, 0, messages, nullptr);  // every edge coincides
  run(options, 15, 1000, 999, 0, messages, nullptr);
  run(options, 15, 1000, 1000, 300, messages, nullptr);
  run(options, 15, 1000, 7300, 100, messages, nullptr);
  run(options, 15, 7300, 1000, 100, messages, nullptr);
}
