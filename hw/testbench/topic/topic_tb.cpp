// Testbench of a whole topic: every subscriber gets every message once, whole, in order per
// publisher, under random stalls; and the figures: cycles from the first beat at a publisher to the
// first at the subscribers, cycles of one message and of many.
#include "axis.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr size_t publishers = P_PUBLISHERS;
constexpr size_t subscribers = P_SUBSCRIBERS;

struct Topic {
  tb::Bench bench;
  // What each subscriber has still to get from each publisher.
  std::vector<std::vector<std::deque<tb::Message>>> expected;
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;

  Topic(const tb::Options& options, unsigned stalls)
      : bench(options), expected(subscribers, std::vector<std::deque<tb::Message>>(publishers)) {
    for (size_t p = 0; p < publishers; p++)
      sources.emplace_back(AXIS_LANE(*bench.dut, s_axis, p, bytes), tb::Stalls(stalls, 9));
    for (size_t s = 0; s < subscribers; s++) {
      const std::string name = "subscriber " + std::to_string(s);
      sinks.emplace_back(name, AXIS_LANE_SHARED(*bench.dut, m_axis, 0, s, bytes),
                         tb::Stalls(stalls, 30), [this, s, name](const tb::Message& found) {
                           const size_t p = found.publisher();
                           if (p >= publishers) tb::fail("%s: publisher %zu", name.c_str(), p);
                           tb::expect_next(name.c_str(), expected[s][p], found);
                         });
    }
    const uint64_t all = ~0ull;
    std::memcpy(&bench.dut->enable, &all, sizeof bench.dut->enable);
    tb::reset(bench, sources, sinks);
  }
  uint64_t send(size_t p, uint32_t sequence, size_t payload) {
    const tb::Message message = tb::frame(bench.random, uint16_t(p), sequence, payload);
    for (auto& queues : expected) queues[p].push_back(message);
    sources[p].send(message);
    return message.beats(bytes);
  }
  bool pending() const {
    for (const auto& queues : expected)
      for (const auto& queue : queues)
        if (!queue.empty()) return true;
    return false;
  }
  void finish(uint64_t bound) {
    for (uint64_t i = 0; i < bound && pending(); i++) tb::step(bench, sources, sinks);
    if (pending()) tb::fail("messages did not arrive");
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  {
    Topic topic(options, 0);
    const uint64_t beats = topic.send(0, 0, options.number("payload", 3072));
    const uint64_t begin = topic.bench.cycle;
    while (topic.sinks[subscribers - 1].beats == 0)
      tb::step(topic.bench, topic.sources, topic.sinks);
    // The cycle in which the beat is taken is not yet over when it can be seen.
    tb::report("first_beat_cycles", topic.bench.cycle - begin - 1);
    topic.finish(10 * beats + 100);
    tb::report("message_beats", beats);
    tb::report("message_cycles", topic.bench.cycle - begin);
  }
  {
    Topic topic(options, 0);
    uint64_t beats = 0;
    for (uint32_t i = 0; i < 100; i++)
      for (size_t p = 0; p < publishers; p++) beats += topic.send(p, i, 1000);
    const uint64_t begin = topic.bench.cycle;
    topic.finish(10 * beats + 100);
    tb::report("beats", beats);
    tb::report("cycles", topic.bench.cycle - begin);
  }
  {
    Topic topic(options, 5);
    for (uint32_t i = 0; i < options.number("messages", 200); i++)
      for (size_t p = 0; p < publishers; p++) {
        topic.send(p, i, topic.bench.random.between(0, 400));
        for (uint64_t c = topic.bench.random.between(0, 60); c > 0; c--)
          tb::step(topic.bench, topic.sources, topic.sinks);
      }
    topic.finish(1000000);
  }
}
