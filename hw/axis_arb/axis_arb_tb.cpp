// Testbench of axis_arb. The reference model works on whole messages as byte sequences: it says for
// each message that is sent, good or damaged in any way, what has to come out for it, and what is
// counted. Order is checked per publisher.
#include "axis.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr size_t ports = P_PORTS;
constexpr bool check = P_CHECK;
constexpr uint64_t latency = P_REGISTER;
constexpr size_t max_bytes = P_MAX_BYTES;
constexpr uint64_t watchdog = P_WATCHDOG_CYCLES;

struct Counts {
  uint64_t small = 0, overlong = 0, oversize = 0, timeout = 0;
};

// What comes out for a message that announces `announced` payload bytes; false for nothing.
static bool reference(tb::Message& message, size_t announced, Counts& counts) {
  if (!check) return true;
  if (announced > max_bytes) {
    counts.oversize += 1;
    return false;
  }
  const size_t total = tb::header_bytes + announced;
  if (message.bytes.size() > total) {
    counts.overlong += 1;
    message.bytes.resize(total);
    message.damaged = true;
  } else if (message.bytes.size() < total) {
    if (!message.damaged) counts.small += 1;
    message.damaged = true;
  }
  return true;
}

struct Arbiter {
  tb::Bench bench;
  std::vector<std::deque<tb::Message>> expected{ports};
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;
  Counts counts;
  std::vector<uint64_t> delivered = std::vector<uint64_t>(ports);

  Arbiter(const tb::Options& options, unsigned stalls) : bench(options) {
    // A publisher's random pauses stay below the watchdog.
    const unsigned longest = watchdog == 0 ? 12 : unsigned(watchdog) - 1;
    for (size_t p = 0; p < ports; p++)
      sources.emplace_back(AXIS_LANE(*bench.dut, s_axis, p, bytes), tb::Stalls(stalls, longest));
    sinks.emplace_back("output", AXIS_LANE(*bench.dut, m_axis, 0, bytes), tb::Stalls(stalls, 12),
                       [&](const tb::Message& found) { take(found); });
    tb::reset(bench, sources, sinks);
  }

  void take(const tb::Message& found) {
    const size_t p = found.publisher();
    if (p >= ports) tb::fail("a message of publisher %zu, who does not exist", p);
    const std::string where = "publisher " + std::to_string(p);
    tb::expect_next(where.c_str(), expected[p], found);
    delivered[p] += 1;
  }

  void step() { tb::step(bench, sources, sinks); }

  bool pending() const {
    for (size_t p = 0; p < ports; p++)
      if (!expected[p].empty() || !sources[p].empty()) return true;
    return false;
  }

  void finish(uint64_t bound) {
    for (uint64_t i = 0; i < bound && pending(); i++) step();
    for (size_t p = 0; p < ports; p++)
      if (!expected[p].empty() || !sources[p].empty())
        tb::fail("publisher %zu: %zu messages did not arrive", p, expected[p].size());
    for (int i = 0; i < 20; i++) step();
    const Vdut& dut = *bench.dut;
    if (dut.count_short != counts.small || dut.count_overlong != counts.overlong ||
        dut.count_oversize != counts.oversize || dut.count_timeout != counts.timeout)
      tb::fail("counts short %u over-long %u over the bound %u dead %u instead of %u %u %u %u",
               unsigned(dut.count_short), unsigned(dut.count_overlong),
               unsigned(dut.count_oversize), unsigned(dut.count_timeout), unsigned(counts.small),
               unsigned(counts.overlong), unsigned(counts.oversize), unsigned(counts.timeout));
    if (dut.dead != 0) tb::fail("a publisher that lives is called dead");
  }

  // A message that is good, or wrong in one of the ways a publisher can be wrong.
  void send_any(size_t p, uint32_t sequence) {
    tb::Random& random = bench.random;
    size_t announced = random.between(0, std::min<size_t>(max_bytes, 200));
    size_t actual = announced;
    switch (random.between(0, 9)) {
      case 0: actual = announced + random.between(1, 100); break;
      case 1: actual = random.between(0, announced); break;
      case 2: announced = max_bytes + random.between(1, 1u << random.between(0, 31)); break;
      case 3: announced = actual = max_bytes; break;
      case 4: announced = actual = 0; break;
      default: break;
    }
    announced = std::min<size_t>(announced, 0xffffffffu);
    actual = std::min<size_t>(actual, 4096);
    tb::Message message = tb::frame(random, uint16_t(p), sequence, announced, actual);
    message.damaged = random.percent(10);
    const std::vector<tb::Beat> beats = tb::beats_of(message, bytes);

    // A publisher that goes silent in mid-message, for one cycle less than the watchdog waits, or
    // exactly as long: then what it had sent is all that arrives, marked as damaged.
    const size_t wanted = (tb::header_bytes + announced + bytes - 1) / bytes;
    const size_t forwarded = std::min(beats.size(), wanted);
    const bool silent =
        watchdog != 0 && announced <= max_bytes && forwarded > 1 && random.percent(20);
    const bool dies = silent && random.percent(50);
    const size_t stop = silent ? random.between(1, forwarded - 1) : 0;
    for (size_t i = 0; i < beats.size(); i++) {
      if (silent && i == stop) sources[p].send(beats[i], int64_t(watchdog) - (dies ? 0 : 1));
      else sources[p].send(beats[i]);
    }
    if (dies) {
      message.bytes.resize(stop * bytes);
      message.damaged = true;
      counts.timeout += 1;
      expected[p].push_back(message);
    } else if (reference(message, announced, counts)) {
      expected[p].push_back(message);
    }
  }
};

// Any mixture of messages under random stalls of every port.
static void mixture(const tb::Options& options, unsigned stalls, uint64_t messages) {
  Arbiter arbiter(options, stalls);
  for (uint32_t i = 0; i < messages; i++)
    for (size_t p = 0; p < ports; p++) {
      if (arbiter.bench.random.percent(30))
        for (uint64_t c = arbiter.bench.random.between(0, 80); c > 0; c--) arbiter.step();
      arbiter.send_any(p, i);
    }
  arbiter.finish(messages * ports * 4000 + 1000);
}

// Everybody always has a message and nothing stalls: one beat in each cycle, and turns are fair.
static void full_speed(const tb::Options& options) {
  Arbiter arbiter(options, 0);
  const uint64_t messages = 50, payload = std::min<size_t>(max_bytes, 100);
  uint64_t beats = 0;
  for (uint32_t i = 0; i < messages; i++)
    for (size_t p = 0; p < ports; p++) {
      const tb::Message message = tb::frame(arbiter.bench.random, uint16_t(p), i, payload);
      beats += message.beats(bytes);
      arbiter.sources[p].send(message);
      arbiter.expected[p].push_back(message);
    }
  const uint64_t begin = arbiter.bench.cycle;
  while (arbiter.sinks[0].beats < beats) {
    if (arbiter.bench.cycle - begin >= beats + latency) tb::fail("an empty cycle at full speed");
    arbiter.step();
    const auto [least, most] =
        std::minmax_element(arbiter.delivered.begin(), arbiter.delivered.end());
    if (*most - *least > 1) tb::fail("unfair: %u messages of one, %u of another", unsigned(*most),
                                     unsigned(*least));
  }
  tb::report("beats", beats);
  tb::report("cycles", arbiter.bench.cycle - begin);
  arbiter.finish(10);
}

int main(int count, char** words) {
  const tb::Options options(count, words);
  full_speed(options);
  mixture(options, 0, 100);
  mixture(options, 15, options.number("messages", 400));
}
