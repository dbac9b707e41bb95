// Testbench of axis_fifo_last. The reference model is the list of complete, good messages: what
// comes out is that list with some left out, as many as are counted as dropped, and never one of
// the newest KEEP. A subscriber that stands still for a while finds the newest ones afterwards.
#include "axis.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr size_t keep = P_KEEP;
constexpr size_t slot_beats = P_SLOT_BEATS;

struct Fifo {
  tb::Bench bench;
  std::deque<tb::Message> good;     // sent, neither seen at the output nor known to be dropped
  std::vector<tb::Message> output;
  uint64_t dropped = 0, discarded = 0;
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;

  Fifo(const tb::Options& options, unsigned s_stalls, unsigned m_stalls, unsigned longest)
      : bench(options) {
    sources.emplace_back(AXIS_LANE(*bench.dut, s_axis, 0, bytes), tb::Stalls(s_stalls, 9));
    sinks.emplace_back("output", AXIS_LANE(*bench.dut, m_axis, 0, bytes),
                       tb::Stalls(m_stalls, longest),
                       [&](const tb::Message& found) { take(found); });
    tb::reset(bench, sources, sinks);
  }
  void take(const tb::Message& found) {
    output.push_back(found);
    while (!good.empty() && !(good.front() == found)) {
      good.pop_front();
      dropped += 1;
    }
    if (good.empty())
      tb::fail("a message of %zu bytes that is old, changed or nobody's", found.bytes.size());
    good.pop_front();
  }
  void step() {
    if (!bench.dut->s_axis_tready) tb::fail("the input was stalled");
    tb::step(bench, sources, sinks);
  }
  void send(tb::Message message) {
    if (message.damaged || message.beats(bytes) > slot_beats) discarded += 1;
    else good.push_back(message);
    sources[0].send(message);
  }
  tb::Message message(uint32_t sequence) {
    const size_t most = slot_beats * bytes - tb::header_bytes;
    tb::Message m = tb::frame(bench.random, 1, sequence, bench.random.between(0, most));
    if (bench.random.percent(5))
      m = tb::frame(bench.random, 1, sequence, most + bench.random.between(1, 2 * most));
    m.damaged = bench.random.percent(10);
    return m;
  }
  void settle() {
    const uint64_t bound = bench.cycle + 200000;
    while (!sources[0].empty() && bench.cycle < bound) step();
    const uint64_t quiet = 60 * slot_beats * (keep + 2) + 200;
    for (uint64_t i = 0; i < quiet && !good.empty(); i++) step();
    for (int i = 0; i < 10; i++) step();
    if (!good.empty()) tb::fail("%zu of the newest messages did not come out", good.size());
    if (bench.dut->count_dropped != dropped || bench.dut->count_discarded != discarded)
      tb::fail("counted %u dropped, %u discarded instead of %u and %u",
               unsigned(bench.dut->count_dropped), unsigned(bench.dut->count_discarded),
               unsigned(dropped), unsigned(discarded));
  }
};

// Any messages, any stalls.
static void mixture(const tb::Options& options, uint64_t messages) {
  Fifo fifo(options, 5, 25, 100);
  for (uint32_t i = 0; i < messages; i++) {
    fifo.send(fifo.message(i));
    for (uint64_t c = fifo.bench.random.between(0, 40); c > 0; c--) fifo.step();
  }
  fifo.settle();
  tb::report("dropped", fifo.dropped);
}

// A subscriber that keeps up loses nothing, and there is no gap between messages that wait.
static void keeping_up(const tb::Options& options) {
  Fifo fifo(options, 0, 0, 1);
  uint64_t beats = 0;
  for (uint32_t i = 0; i < 50; i++) {
    const tb::Message m = tb::frame(fifo.bench.random, 1, i, slot_beats * bytes - tb::header_bytes);
    beats += m.beats(bytes);
    fifo.send(m);
  }
  const uint64_t begin = fifo.bench.cycle;
  while (fifo.sinks[0].beats < beats && fifo.bench.cycle < begin + 3 * beats) fifo.step();
  tb::report("beats", beats);
  tb::report("slot_beats", slot_beats);
  tb::report("cycles", fifo.bench.cycle - begin);
  fifo.settle();
  if (fifo.dropped != 0) tb::fail("a subscriber that keeps up lost messages");
}

// The subscriber stands still while many messages come: it gets what was begun, then the newest
// KEEP.
static void standing_still(const tb::Options& options) {
  Fifo fifo(options, 0, 100, 1u << 30);
  std::vector<tb::Message> sent;
  for (uint32_t i = 0; i < 3 * keep + 5; i++) {
    sent.push_back(tb::frame(fifo.bench.random, 1, i, fifo.bench.random.between(0, 30)));
    fifo.send(sent.back());
    while (!fifo.sources[0].empty()) fifo.step();
    for (int c = 0; c < 10; c++) fifo.step();
  }
  // The stalled sink is exchanged for one that takes everything.
  fifo.sinks.clear();
  fifo.sinks.emplace_back("output", AXIS_LANE(*fifo.bench.dut, m_axis, 0, bytes), tb::Stalls(0, 1),
                          [&](const tb::Message& found) { fifo.take(found); });
  fifo.settle();
  // A first message of one beat leaves the memory at once, so the second is begun as well.
  const size_t begun = sent[0].beats(bytes) == 1 ? 2 : 1;
  if (fifo.output.size() != keep + begun) tb::fail("%zu messages came out", fifo.output.size());
  for (size_t i = 0; i < begun; i++)
    if (!(fifo.output[i] == sent[i])) tb::fail("a message that was begun was lost");
  for (size_t i = 0; i < keep; i++)
    if (!(fifo.output[begun + i] == sent[sent.size() - keep + i]))
      tb::fail("not the newest messages");
}

int main(int count, char** words) {
  const tb::Options options(count, words);
  keeping_up(options);
  standing_still(options);
  mixture(options, options.number("messages", 600));
}
