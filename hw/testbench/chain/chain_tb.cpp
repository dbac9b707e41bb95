// Testbench of a chain of three nodes: what comes out is what three functions make of what went in,
// with the stamp of the input and the publisher id of the last node, under random stalls; and how
// many cycles one message takes, and many, for several lengths.
#include "axis.hpp"

struct Chain {
  tb::Bench bench;
  std::deque<tb::Message> expected;
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;
  uint32_t sequence = 0;
  uint64_t computing = 0;

  Chain(const tb::Options& options, unsigned stalls) : bench(options) {
    sources.emplace_back(AXIS_LANE(*bench.dut, s_axis, 0, 8), tb::Stalls(stalls, 9));
    sinks.emplace_back("end of the chain", AXIS_LANE(*bench.dut, m_axis, 0, 8),
                       tb::Stalls(stalls, 30), [this](const tb::Message& found) {
                         tb::expect_next("end of the chain", expected, found);
                       });
    tb::reset(bench, sources, sinks);
  }

  // Gives the beats of the message.
  uint64_t send(size_t payload) {
    const tb::Message message = tb::frame(bench.random, 99, 12345, payload);
    sources[0].send(message);
    tb::Message out = tb::frame(bench.random, 3, sequence++, payload);
    std::copy_n(message.bytes.begin() + 16, 8, out.bytes.begin() + 16);
    for (size_t i = tb::header_bytes; i < out.bytes.size(); i++)
      out.bytes[i] = uint8_t(message.bytes[i] + 3);
    expected.push_back(out);
    return message.beats(8);
  }

  // Cycles until everything is out.
  uint64_t finish() {
    const uint64_t begin = bench.cycle;
    while (!expected.empty()) {
      if (bench.cycle - begin > 10000000) tb::fail("messages did not come out");
      tb::step(bench, sources, sinks, [this] { computing += bench.dut->computing != 0; });
    }
    return bench.cycle - begin;
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  for (const size_t payload : {80, 800, 8000}) {
    const std::string of = std::to_string(payload);
    Chain one(options, 0);
    tb::report(("beats " + of).c_str(), one.send(payload));
    tb::report(("cycles " + of).c_str(), one.finish());
    tb::report(("computing " + of).c_str(), one.computing);
    Chain many(options, 0);
    for (int i = 0; i < 11; i++) many.send(payload);
    tb::report(("eleven " + of).c_str(), many.finish());
  }
  Chain chain(options, 15);
  for (int i = 0; i < 200; i++) {
    chain.send(chain.bench.random.between(0, 300));
    for (uint64_t c = chain.bench.random.between(0, 100); c > 0; c--)
      tb::step(chain.bench, chain.sources, chain.sinks);
  }
  chain.finish();
}
