// Testbench of nodes that make a picture of a picture: frames and what the software twin makes of
// them come from a file; random stalls on both sides, resets, and a clock that stands still while
// nobody needs it. ports.hpp names the node's ports, and says whether it publishes while a message
// comes: then what is published of a message that turns out to be wrong has to be marked as
// damaged.
#include "vectors.hpp"

#include "ports.hpp"

// Bytes of a beat.
#ifndef NODE_INPUT_BYTES
#define NODE_INPUT_BYTES 8
#endif
#ifndef NODE_OUTPUT_BYTES
#define NODE_OUTPUT_BYTES 8
#endif

namespace {

struct Vector {
  tb::Message frame;
  uint32_t reason;       // the number on `refused`, if nothing is published
  tb::Message expected;  // of sequence 0; without bytes: nothing is published
};

// The count; of each vector whether it is damaged, its frame, the reason, and what is published.
std::vector<Vector> read(const std::string& path) {
  tb::Vectors file(path);
  std::vector<Vector> vectors(file.word());
  for (Vector& vector : vectors) {
    vector.frame = file.frame();
    vector.reason = file.word();
    vector.expected.bytes = file.bytes();
  }
  return vectors;
}

}  // namespace

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  const std::vector<Vector> vectors = read(options.text("vectors"));
  const unsigned stalls = unsigned(options.number("stalls", 30));
  const bool resets = options.number("resets", 0) != 0;
  // How often all of them come, with a reset in between: nothing may be left of the time before.
  uint64_t rounds = options.number("rounds", 1);
  const uint16_t publisher = uint16_t(random.next());

  std::deque<tb::Message> expected;
  std::deque<const Vector*> wrong;  // what is to be dropped
  std::vector<uint64_t> ends;  // cycles of the last beats of what was published
  uint64_t first = 0, published = 0, refused = 0, dropped = 0, idle = 0;
  uint64_t damaged = 0;
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;
  const tb::Stalls often(stalls, 12);
  // Pictures may come more slowly than what is made of them leaves.
  const tb::Stalls coming(unsigned(options.number("input-stalls", stalls)),
                          options.number("longest", 12));
#define NODE_LANE(prefix, bytes) AXIS_LANE(dut, prefix, 0, bytes)
  const tb::Lane in = NODE_LANE(NODE_INPUT, NODE_INPUT_BYTES);
  const tb::Lane out = NODE_LANE(NODE_OUTPUT, NODE_OUTPUT_BYTES);
  sources.emplace_back(in, coming);
  sinks.emplace_back("published", out, often, [&](const tb::Message& found) {
    if (NODE_STREAMS && found.damaged) {
      damaged += 1;
      return;
    }
    tb::expect_next("published", expected, found);
    ends.push_back(bench.cycle);
  });
  dut.NODE_PUBLISHER_ID = publisher;

  size_t next = 0;
  uint32_t sequence = 0;
  uint64_t busy_alone = 0;
  const auto send = [&](const Vector& vector) {
    sources[0].send(vector.frame);
    if (vector.expected.bytes.empty()) {
      wrong.push_back(&vector);
      refused += 1;
      return;
    }
    expected.push_back(tb::numbered(vector.expected, publisher, sequence));
    sequence += 1;
    published += 1;
  };
  // The reason is told in the cycle that counts what is dropped, and in no other one.
  const auto look = [&] {
    const uint32_t found = dut.refused;
    if (!dut.dropped) {
      if (found != 0) tb::fail("reason %u is told, but nothing is dropped", found);
      return;
    }
    dropped += 1;
    if (wrong.empty()) tb::fail("a message is told to be dropped, but none is wrong");
    const Vector& vector = *wrong.front();
    if (found != vector.reason)
      tb::fail("frame %zu is dropped for reason %u, and not for reason %u",
               size_t(&vector - vectors.data()), found, vector.reason);
    wrong.pop_front();
  };
  tb::reset(bench, sources, sinks);
  // Without stalls it is measured: not before the histogram is clear.
  for (int i = 0; i < 300 && stalls == 0; i++) tb::step(bench, sources, sinks);
  while (next < vectors.size() || !sources[0].empty() || !expected.empty() || idle < 2000) {
    const bool is_over = next == vectors.size() && sources[0].empty() && expected.empty() && wrong.empty();
    if (is_over && rounds > 1) {
      rounds -= 1;
      next = 0;
      sequence = 0;
      tb::reset(bench, sources, sinks);
    }
    if (sources[0].empty() && next < vectors.size()) send(vectors[next++]);
    if (resets && random.between(0, 30000) == 0) {
      expected.clear();
      wrong.clear();
      sequence = 0;
      tb::reset(bench, sources, sinks);
    }
    dut.clk = 0;
    sources[0].drive(random);
    sinks[0].drive(random);
    bench.settle();
    bench.record();
    // Nothing offered, nothing to do: the clock need not tick, and nothing may be waiting for it.
    const bool offered = in.valid.get() || out.valid.get();
    if (first == 0 && in.valid.get() && in.ready.get()) first = bench.cycle;
    if (offered || dut.busy) {
      sources[0].sample();
      sinks[0].sample();
      look();
      dut.clk = 1;
      bench.settle();
      bench.record();
      idle = 0;
      busy_alone = offered ? 0 : busy_alone + 1;
      // The longest wait that is its own: a table, and a picture that nobody is to get.
      if (busy_alone > 2000 + NODE_MAX_BYTES / 8) tb::fail("it is busy without an end");
    } else {
      idle += 1;
      if (idle >= 2000 && !expected.empty() && sources[0].empty() && next == vectors.size())
        tb::fail("it is not busy, but %zu messages are missing", expected.size());
    }
    bench.cycle += 1;
    if (bench.cycle > 200000000) tb::fail("it stands still");
  }
  // A reset takes what was under way without a word.
  if (!resets && dropped != refused)
    tb::fail("%llu messages are told to be dropped, of %llu", (unsigned long long)dropped,
             (unsigned long long)refused);
  if (!resets && damaged > dropped) tb::fail("messages are damaged that are not dropped");
  tb::report("published", published);
  tb::report("damaged", damaged);
  tb::report("dropped", dropped);
  if (ends.empty()) return 0;
  tb::report("latency", ends.front() - first + 1);
  if (ends.size() > 1) tb::report("period", ends[ends.size() - 1] - ends[ends.size() - 2]);
  return 0;
}
