// The reference model of every module with one input and one output that changes no message: what
// goes in comes out, byte for byte, in order. It must not know any module.
#pragma once

#include "axis.hpp"

namespace tb {

// Sends `messages` through the model, with random stalls of both ports (a pause begins in `stalls`
// percent of the cycles) and, if there are stalls, with resets in mid-message. Without stalls it
// returns at the cycle in which the last beat came out, and reports beats and cycles.
inline void pass_through(const Options& options, size_t s_bytes, size_t m_bytes, unsigned stalls,
                         uint64_t messages) {
  Bench bench(options);
  std::deque<Message> expected;
  std::vector<Source> sources;
  std::vector<Sink> sinks;
  sources.emplace_back(AXIS_LANE(*bench.dut, s_axis, 0, s_bytes), Stalls(stalls, 9));
  sinks.emplace_back("output", AXIS_LANE(*bench.dut, m_axis, 0, m_bytes), Stalls(stalls, 40),
                     [&](const Message& found) { expect_next("output", expected, found); });
  reset(bench, sources, sinks);
  const uint64_t begin = bench.cycle;
  uint64_t beats = 0;
  for (uint64_t i = 0; i < messages; i++) {
    Message message = frame(bench.random, 7, uint32_t(i), bench.random.between(0, 400));
    message.damaged = bench.random.percent(10);
    std::vector<Beat> sent = beats_of(message, s_bytes);
    if (stalls != 0 && bench.random.percent(10)) {
      // A message that an arbiter has ended: its last beat holds no byte.
      const size_t whole = bench.random.between(1, sent.size()) - 1;
      sent.resize(whole);
      Beat end;
      end.last = end.user = true;
      sent.push_back(end);
      message.bytes.resize(whole * s_bytes);
      message.damaged = true;
    }
    beats += sent.size();
    for (const Beat& beat : sent) sources[0].send(beat);
    expected.push_back(message);
    if (stalls == 0) continue;
    for (uint64_t c = bench.random.between(0, 60); c > 0; c--) step(bench, sources, sinks);
    // Nothing of what was inside may appear after a reset.
    if (bench.random.percent(2)) {
      reset(bench, sources, sinks);
      expected.clear();
    }
  }
  const uint64_t bound = bench.cycle + 1000 * (beats + 10);
  while (!expected.empty() && bench.cycle < bound) step(bench, sources, sinks);
  if (!expected.empty()) fail("%zu messages did not arrive", expected.size());
  if (stalls == 0) {
    report("beats_in", beats);
    report("beats_out", sinks[0].beats);
    report("cycles", bench.cycle - begin);
  }
}

// Full speed, then stalls.
inline int pass_through_main(int count, char** words, size_t s_bytes, size_t m_bytes) {
  const Options options(count, words);
  pass_through(options, s_bytes, m_bytes, 0, 100);
  pass_through(options, s_bytes, m_bytes, 20, options.number("messages", 600));
  return 0;
}

}  // namespace tb
