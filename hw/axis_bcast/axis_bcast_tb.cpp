// Testbench of axis_bcast. The reference model notes, from the outside, when the first beat of a
// message enters the output entry, who is enabled then and whose own message it is; each of the
// others must get exactly this message.
#include "axis.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr size_t ports = P_PORTS;
constexpr bool has_enable = P_ENABLE;
constexpr uint64_t filtered = P_LOOP_FILTER;

// Publisher ids of the messages; port p's own id is p too.
constexpr uint16_t publishers = ports + 2;

static void run(const tb::Options& options, unsigned stalls, uint64_t messages) {
  tb::Bench bench(options);
  Vdut& dut = *bench.dut;
  std::vector<std::deque<tb::Message>> expected(ports);
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;
  std::deque<tb::Message> sent;  // those whose first beat has not reached the output entry
  sources.emplace_back(AXIS_LANE(dut, s_axis, 0, bytes), tb::Stalls(stalls, 9));
  for (size_t p = 0; p < ports; p++) {
    const std::string name = "subscriber " + std::to_string(p);
    sinks.emplace_back(name, AXIS_LANE_SHARED(dut, m_axis, 0, p, bytes), tb::Stalls(stalls, 20),
                       [&expected, p, name](const tb::Message& found) {
                         tb::expect_next(name.c_str(), expected[p], found);
                       });
    std::memcpy(reinterpret_cast<uint8_t*>(&dut.own_id) + 2 * p, &p, 2);
  }
  auto enable = [&](uint64_t who) { std::memcpy(&dut.enable, &who, sizeof dut.enable); };
  const uint64_t all = ports == 64 ? ~0ull : (1ull << ports) - 1;
  enable(has_enable ? all : 0);

  size_t waiting = 0;    // beats taken that have not reached the output entry
  size_t remaining = 0;  // beats of the message in the output entry that have not
  uint64_t enabled = has_enable ? all : 0;
  auto look = [&] {
    uint64_t valid = 0, ready = 0;
    std::memcpy(&valid, &dut.m_axis_tvalid, sizeof dut.m_axis_tvalid);
    std::memcpy(&ready, &dut.m_axis_tready, sizeof dut.m_axis_tready);
    if (dut.s_axis_tvalid && dut.s_axis_tready) waiting += 1;
    if ((valid & ~ready) != 0 || waiting == 0) return;
    waiting -= 1;
    if (remaining == 0) {
      const tb::Message& message = sent.front();
      remaining = message.beats(bytes);
      for (size_t p = 0; p < ports; p++) {
        const bool own = (filtered >> p & 1) && message.publisher() == p;
        if ((!has_enable || (enabled >> p & 1)) && !own) expected[p].push_back(message);
      }
      sent.pop_front();
    }
    remaining -= 1;
  };

  tb::reset(bench, sources, sinks);
  uint64_t beats = 0;
  const uint64_t begin = bench.cycle;
  for (uint64_t i = 0; i < messages; i++) {
    const uint16_t publisher = uint16_t(bench.random.between(0, publishers - 1));
    const size_t payload = bench.random.between(0, 250);
    tb::Message message = tb::frame(bench.random, publisher, uint32_t(i), payload);
    message.damaged = bench.random.percent(10);
    beats += message.beats(bytes);
    sources[0].send(message);
    sent.push_back(message);
    if (stalls == 0) continue;
    for (uint64_t c = bench.random.between(0, 90); c > 0; c--) {
      if (has_enable && bench.random.percent(10)) {
        enabled = bench.random.next() & all;
        enable(enabled);
      }
      tb::step(bench, sources, sinks, look);
    }
  }
  auto pending = [&] {
    if (!sources[0].empty() || waiting > 0) return true;
    for (const auto& queue : expected)
      if (!queue.empty()) return true;
    return false;
  };
  const uint64_t bound = bench.cycle + 1000 * (beats + 10);
  while (pending() && bench.cycle < bound) tb::step(bench, sources, sinks, look);
  if (pending()) tb::fail("messages did not arrive");
  if (stalls == 0) {
    tb::report("beats", beats);
    tb::report("cycles", bench.cycle - begin);
  }
  for (int i = 0; i < 20; i++) tb::step(bench, sources, sinks, look);
}

int main(int count, char** words) {
  const tb::Options options(count, words);
  run(options, 0, 100);
  run(options, 10, options.number("messages", 600));
}
