// Testbench of nodes with several inputs: frames of each input and what the software twin makes of
// them come from a file; random stalls on all sides, inputs that fall behind, resets, and a clock
// that stands still while nobody needs it. A frame may have to wait for frames of the other inputs,
// or for what the node does: that is published or told to be dropped. ports.hpp names the node's
// ports. Reasons are told in the order of the frames: those of one input at most have any.
#include "vectors.hpp"

#include "ports.hpp"

// The number on `refused`, of a node that has it.
#ifndef NODE_REASON
#define NODE_REASON(dut) 0u
#endif

namespace {

struct Frame {
  tb::Message message;
  uint32_t after;   // frames of the other inputs that have been sent
  uint32_t behind;  // messages that have been published or dropped
};

}  // namespace

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  const unsigned stalls = unsigned(options.number("stalls", 30));
  // How often an input that may stall is silent after a message, percent.
  const unsigned silence = unsigned(options.number("silence", stalls > 0 ? 5 : 0));
  // The longest time that the node is busy with what it has, cycles.
  const uint64_t longest = options.number("longest", 3000);
  const uint16_t publisher = uint16_t(random.next());
  const tb::Stalls often(stalls, 12);

  std::vector<tb::Source> sources;
  std::vector<tb::Lane> lanes;
#define NODE_LANE(prefix) AXIS_LANE(dut, prefix, 0, 8)
#define NODE_ADD(prefix) lanes.push_back(NODE_LANE(prefix));
  NODE_INPUTS(NODE_ADD)
  for (const tb::Lane& lane : lanes) sources.emplace_back(lane, often);
  const tb::Lane out = NODE_LANE(NODE_OUTPUT);

  // Of each input its frames, then how many are dropped and for which reasons, then what is
  // published.
  std::vector<std::vector<Frame>> frames(lanes.size());
  std::vector<tb::Message> published;
  tb::Vectors vectors(options.text("vectors"));
  for (auto& of_input : frames) {
    of_input.resize(vectors.word());
    for (Frame& frame : of_input) {
      frame.after = vectors.word();
      frame.behind = vectors.word();
      frame.message = vectors.frame();
    }
  }
  const uint64_t refused = vectors.word();
  std::vector<uint32_t> reasons(vectors.word());
  for (uint32_t& reason : reasons) reason = vectors.word();
  published.resize(vectors.word());
  for (tb::Message& frame : published) frame.bytes = vectors.bytes();

  std::deque<tb::Message> expected;
  uint64_t found_all = 0;      // messages that were published since the last reset
  std::vector<uint64_t> ends;  // cycles of the last beats of what was published
  bool counts = false;         // what is published has to be what is expected
  std::vector<tb::Sink> sinks;
  sinks.emplace_back("published", out, often, [&](const tb::Message& found) {
    found_all += 1;
    if (!counts) return;
    tb::expect_next("published", expected, found);
    ends.push_back(bench.cycle);
  });
  dut.NODE_PUBLISHER_ID = publisher;

  uint64_t dropped = 0, told = 0, idle = 0, busy_alone = 0, last_beat = 0, first_latency = 0;
  std::vector<size_t> next(lanes.size(), 0);
  std::vector<uint64_t> silent(lanes.size(), 0);  // cycles until an input goes on
  const auto begin = [&] {
    std::fill(next.begin(), next.end(), 0);
    expected.clear();
    for (size_t i = 0; i < published.size(); i++)
      expected.push_back(tb::numbered(published[i], publisher, uint32_t(i)));
    dropped = told = idle = busy_alone = found_all = 0;
    tb::reset(bench, sources, sinks);
  };
  // The reason is told in the cycle that counts what is dropped, and in no other one.
  const auto look = [&] {
    const uint32_t reason = NODE_REASON(dut);
    if (reason != 0 && !dut.dropped) tb::fail("reason %u is told, but nothing is dropped", reason);
    dropped += dut.dropped;
    if (reason == 0) return;
    if (told == reasons.size()) tb::fail("reason %u is told, but there are no more", reason);
    if (reason != reasons[told])
      tb::fail("reason %llu is %u, and not %u", (unsigned long long)told, reason, reasons[told]);
    told += 1;
  };
  // True as long as there is something to do.
  const auto step = [&] {
    bool left = false;
    const auto is_due = [&](size_t i) {
      const Frame& frame = frames[i][next[i]];
      size_t others = 0;
      for (size_t j = 0; j < sources.size(); j++)
        if (j != i) others += next[j] - (sources[j].empty() ? 0 : 1);
      return others >= frame.after && found_all + dropped >= frame.behind;
    };
    for (size_t i = 0; i < sources.size(); i++) {
      if (silent[i] > 0) silent[i] -= 1;
      if (sources[i].empty() && next[i] < frames[i].size() && silent[i] == 0 && is_due(i)) {
        sources[i].send(frames[i][next[i]++].message);
        if (random.percent(silence)) silent[i] = random.between(1, 4000);
      }
      left = left || next[i] < frames[i].size() || !sources[i].empty();
    }
    dut.clk = 0;
    for (tb::Source& source : sources) source.drive(random);
    sinks[0].drive(random);
    bench.settle();
    bench.record();
    // Nothing offered, nothing to do: the clock need not tick, and nothing may be waiting for it.
    bool offered = out.valid.get();
    for (const tb::Lane& lane : lanes) offered = offered || lane.valid.get();
    if (offered || dut.busy) {
      for (tb::Source& source : sources)
        if (source.sample()) last_beat = bench.cycle;
      const size_t before = ends.size();
      sinks[0].sample();
      if (before == 0 && !ends.empty()) first_latency = bench.cycle - last_beat;
      look();
      dut.clk = 1;
      bench.settle();
      bench.record();
      idle = 0;
      busy_alone = offered ? 0 : busy_alone + 1;
      if (busy_alone > longest) tb::fail("it is busy without an end");
    } else {
      idle += 1;
      if (idle >= 5000 && !left && !expected.empty())
        tb::fail("it is not busy, but %zu messages are missing", expected.size());
    }
    bench.cycle += 1;
    if (bench.cycle > 200000000) tb::fail("it stands still");
    return left || !expected.empty() || idle < 5000;
  };
  // Something is under way, and a reset takes it.
  for (uint64_t resets = options.number("resets", 0); resets > 0; resets--) {
    begin();
    for (uint64_t i = random.between(1, 20000); i > 0; i--) step();
  }
  begin();
  counts = true;
  while (step()) {
  }
  if (dropped != refused)
    tb::fail("%llu messages are told to be dropped, of %llu", (unsigned long long)dropped,
             (unsigned long long)refused);
  if (told != reasons.size())
    tb::fail("%llu reasons are told, of %zu", (unsigned long long)told, reasons.size());
  tb::report("published", published.size());
  tb::report("dropped", dropped);
  tb::report("latency", first_latency);
  if (ends.size() > 1) tb::report("period", ends[ends.size() - 1] - ends[ends.size() - 2]);
  return 0;
}
