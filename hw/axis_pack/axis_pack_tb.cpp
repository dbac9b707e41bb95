// Testbench of axis_pack. The reference model is the list of a message's bytes: what the runs hold
// one after the other is what has to come out.
#include "axis.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr size_t lanes = bytes / 8;

struct Pack {
  tb::Bench bench;
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;
  std::deque<tb::Message> expected;
  uint64_t sent_beats = 0, first_out = 0, last_out = 0;

  Pack(const tb::Options& options, unsigned stalls) : bench(options) {
    sources.emplace_back(AXIS_LANE(*bench.dut, s_axis, 0, bytes), tb::Stalls(stalls, 9));
    sinks.emplace_back("output", AXIS_LANE(*bench.dut, m_axis, 0, bytes), tb::Stalls(stalls, 9),
                       [this](const tb::Message& found) {
                         tb::expect_next("output", expected, found);
                       });
    tb::reset(bench, sources, sinks);
  }
  // A message that arrives in beats with these runs: first lane and number of bytes.
  void send(const std::vector<std::pair<size_t, size_t>>& runs, bool damaged) {
    tb::Message message;
    message.damaged = damaged;
    for (size_t i = 0; i < runs.size(); i++) {
      tb::Beat beat;
      for (auto& byte : beat.data) byte = uint8_t(bench.random.next());
      std::fill(beat.data.begin() + bytes, beat.data.end(), 0);
      for (size_t at = 8 * runs[i].first; at < 8 * runs[i].first + runs[i].second; at++) {
        beat.keep |= 1ull << at;
        message.bytes.push_back(beat.data[at]);
      }
      beat.last = i + 1 == runs.size();
      // In other beats it means nothing.
      beat.user = beat.last ? damaged : bench.random.percent(50) && lanes > 1;
      sources[0].send(beat);
      sent_beats += 1;
    }
    expected.push_back(message);
  }
  void send_any() {
    auto& random = bench.random;
    std::vector<std::pair<size_t, size_t>> runs;
    const uint64_t many = random.percent(70) ? random.between(1, 4) : random.between(1, 30);
    const bool full = random.percent(30);
    for (uint64_t i = 0; i < many; i++) {
      const size_t first = random.percent(50) || full ? 0 : random.between(0, lanes - 1);
      size_t n = full ? lanes : random.between(1, lanes - first);
      if (random.percent(5) && i + 1 == many) n = 0;
      size_t size = 8 * n;
      if (n > 0 && i + 1 == many) size -= random.between(0, 7);
      runs.push_back({first, size});
    }
    send(runs, random.percent(10));
  }
  void run() {
    const uint64_t bound = bench.cycle + 1000000;
    while (!expected.empty() && bench.cycle < bound) {
      const uint64_t before = sinks[0].beats;
      tb::step(bench, sources, sinks);
      if (sinks[0].beats == before) continue;
      if (first_out == 0) first_out = bench.cycle;
      last_out = bench.cycle;
    }
    if (!expected.empty()) tb::fail("%zu messages did not come", expected.size());
    for (int i = 0; i < 20; i++) tb::step(bench, sources, sinks);
    if (!sources[0].empty()) tb::fail("beats were not taken");
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  {
    // A short run, then full beats: the output has no gap, and none between two such messages.
    Pack pack(options, 0);
    const std::vector<std::pair<size_t, size_t>> head{{lanes - 1, 8}};
    for (int i = 0; i < 2; i++) {
      auto runs = head;
      for (int k = 0; k < 100; k++) runs.push_back({0, bytes});
      pack.send(runs, false);
    }
    const uint64_t begin = pack.bench.cycle;
    pack.run();
    tb::report("long_beats", pack.sinks[0].beats);
    tb::report("long_cycles", pack.last_out - pack.first_out + 1);
    tb::report("first_beat_cycles", pack.first_out - begin);
  }
  for (const unsigned stalls : {0, 20}) {
    Pack pack(options, stalls);
    const uint64_t many = options.number("messages", 400);
    for (uint64_t i = 0; i < many; i++) pack.send_any();
    pack.run();
  }
}
