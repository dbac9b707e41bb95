// Testbench of node_shell. The reference model works on whole messages: it says what the kernel has
// to get for each message that comes, good or damaged, and what has to go out for what the kernel
// then gives, right or wrong; what is drained while the host says so; and what the host reads.
#include "axis.hpp"

constexpr bool sequential = P_SEQUENTIAL;
constexpr size_t max_bytes = P_MAX_BYTES;
constexpr size_t max_output = P_MAX_OUTPUT_BYTES;
constexpr size_t latest = P_LATEST;
constexpr uint16_t publisher = P_PUBLISHER_ID;

struct Counts {
  uint64_t published = 0, small = 0, overlong = 0, damaged = 0, drained = 0;
};

// What the kernel's function says of the length of its output.
static uint32_t output_bytes(uint32_t bytes) {
  if (bytes % 7 == 3) return 0;
  return bytes % 11 == 5 ? 0xffffffff : bytes / 2 + bytes % 5 * 8;
}

// A message for the kernel, or of it: at least one beat.
static void queue(tb::Source& source, const tb::Message& message) {
  if (!message.bytes.empty()) return source.send(message);
  tb::Beat beat;
  beat.last = true;
  beat.user = message.damaged;
  source.send(beat);
}

struct Shell {
  // What is sent on the triggering input: the bytes, and what the header says.
  struct Sent {
    tb::Message message;
    uint32_t announced;
  };
  // A message that the kernel works on.
  struct Work {
    tb::Message input, output;
    bool early;  // the output begins before the input has ended
    bool given = false;
  };

  tb::Bench bench;
  std::vector<tb::Source> sources;  // triggering input, output of the kernel, non-triggering inputs
  std::vector<tb::Sink> sinks;      // output, input of the kernel, the latest messages
  std::deque<Sent> sent;
  std::deque<Work> works;
  std::deque<tb::Message> expected;
  std::vector<std::deque<tb::Message>> newest{latest};
  std::deque<std::array<uint64_t, 2>> starts;  // bytes, stamp
  Counts counts;
  uint32_t sequence = 0;
  size_t inputs_ended = 0, begun = 0;
  bool inside = false;  // a message on the triggering input is under way
  bool enable = true, drain = false;
  uint64_t computing = 0, busy = 0;
  bool faults;

  Shell(const tb::Options& options, unsigned stalls, bool faults) : bench(options), faults(faults) {
    Vdut& dut = *bench.dut;
    sources.emplace_back(AXIS_LANE(dut, s_axis, 0, 8), tb::Stalls(stalls, 12));
    sources.emplace_back(AXIS_LANE(dut, kernel_out, 0, 8), tb::Stalls(stalls, 12));
    sinks.emplace_back("output", AXIS_LANE(dut, m_axis, 0, 8), tb::Stalls(stalls, 12),
                       [this](const tb::Message& found) {
                         tb::expect_next("output", expected, found);
                       });
    sinks.emplace_back("input of the kernel", AXIS_LANE(dut, kernel_in, 0, 8),
                       tb::Stalls(stalls, 12), [this](const tb::Message& found) { take(found); });
    for (size_t i = 0; i < latest; i++) {
      sources.emplace_back(AXIS_LANE(dut, l_axis, i, 8), tb::Stalls(stalls, 12));
      sinks.emplace_back("latest", AXIS_LANE(dut, latest, i, 8), tb::Stalls(stalls, 40),
                         [this, i](const tb::Message& found) {
                           tb::expect_next("latest", newest[i], found);
                         });
    }
    dut.register_write = 0;
    dut.register_address = 0;
    dut.kernel_done = 0;
    dut.kernel_output_bytes = 0;
    tb::reset(bench, sources, sinks);
  }

  // The kernel has got a message.
  void take(const tb::Message& found) {
    if (inputs_ended >= works.size()) tb::fail("the kernel gets a message that nobody sent");
    Work& work = works[inputs_ended];
    std::deque<tb::Message> one{work.input};
    tb::expect_next("input of the kernel", one, found);
    inputs_ended += 1;
    if (sequential) computing = bench.random.between(1, 20);
  }

  // The first beat of the next message is taken: what is to come of it.
  void begin() {
    if (sent.empty()) tb::fail("a message is taken that nobody sent");
    const Sent next = sent.front();
    sent.pop_front();
    tb::Random& random = bench.random;
    if (!enable) {
      counts.drained += 1;
      return;
    }
    const size_t total = next.message.bytes.size();
    if (next.announced > max_bytes || total < tb::header_bytes) {
      counts.damaged += 1;
      return;
    }
    Work work;
    const size_t payload = total - tb::header_bytes;
    const auto first = next.message.bytes.begin() + tb::header_bytes;
    work.input.bytes.assign(first, first + std::min<size_t>(payload, next.announced));
    work.input.damaged = next.message.damaged || payload != next.announced;
    counts.damaged += work.input.damaged;

    const size_t says = std::min<size_t>(output_bytes(next.announced), max_output);
    size_t gives = says;
    if (faults && random.percent(10)) gives = says + random.between(1, 40);
    if (faults && random.percent(10)) gives = random.between(0, says);
    work.output.bytes.resize(gives);
    for (auto& byte : work.output.bytes) byte = uint8_t(random.next());
    work.output.damaged = faults && random.percent(5);
    work.early = !sequential && random.percent(50);

    tb::Message out = tb::frame(random, publisher, sequence++, says, std::min(gives, says));
    std::copy_n(work.output.bytes.begin(), std::min(gives, says),
                out.bytes.begin() + tb::header_bytes);
    std::copy_n(next.message.bytes.begin() + 16, 8, out.bytes.begin() + 16);
    out.damaged = work.input.damaged || gives != says || work.output.damaged;
    counts.small += gives < says;
    counts.overlong += gives > says;
    counts.published += 1;
    expected.push_back(out);
    uint64_t stamp;
    std::memcpy(&stamp, &next.message.bytes[16], 8);
    starts.push_back({next.announced, stamp});
    works.push_back(std::move(work));
  }

  void look() {
    Vdut& dut = *bench.dut;
    if (dut.kernel_start) {
      if (starts.empty() || starts.front()[0] != dut.kernel_bytes ||
          starts.front()[1] != dut.kernel_stamp)
        tb::fail("the kernel is started with %u bytes", unsigned(dut.kernel_bytes));
      starts.pop_front();
      begun += 1;
    }
    if (sequential && dut.m_axis_tvalid && inputs_ended < works.size())
      tb::fail("sends while it receives");
    if (sequential && dut.m_axis_tvalid && computing > 0) tb::fail("sends while it computes");
    if (dut.s_axis_tvalid && dut.s_axis_tready) {
      if (!inside) begin();
      inside = !dut.s_axis_tlast;
    }
  }

  void step() {
    Vdut& dut = *bench.dut;
    dut.kernel_output_bytes = output_bytes(dut.kernel_bytes);
    dut.kernel_done = sequential && computing == 0;
    tb::step(bench, sources, sinks, [this] { look(); });
    dut.register_write = 0;
    if (computing > 0) computing -= 1;
    // The kernel gives its outputs in order, once they may begin.
    for (size_t i = 0; i < works.size(); i++) {
      Work& work = works[i];
      if (work.given) continue;
      if (i >= begun || (i >= inputs_ended && !work.early) || (sequential && computing > 0)) break;
      queue(sources[1], work.output);
      work.given = true;
    }
  }

  void control(bool now_enabled, bool now_draining) {
    Vdut& dut = *bench.dut;
    dut.register_address = 1;
    dut.register_write = 1;
    dut.register_write_data = uint64_t(now_enabled) | uint64_t(now_draining) << 1;
    step();
    enable = now_enabled;
    drain = now_draining;
  }

  uint64_t read(unsigned address) {
    bench.dut->register_address = address;
    step();
    return bench.dut->register_read_data;
  }

  void send(size_t announced, size_t payload, size_t total, bool damaged) {
    tb::Message message = tb::frame(bench.random, 77, 5, announced, payload);
    message.bytes.resize(std::min(total, message.bytes.size()));
    message.damaged = damaged;
    sent.push_back({message, uint32_t(announced)});
    sources[0].send(message);
  }

  void send_any() {
    tb::Random& random = bench.random;
    size_t announced = random.between(0, max_bytes);
    size_t payload = announced, total = ~size_t(0);
    if (random.percent(10)) announced = payload = 0;
    switch (random.between(0, 12)) {
      case 0: payload = announced + random.between(1, 60); break;
      case 1: payload = random.between(0, announced); break;
      case 2: announced = max_bytes + random.between(1, 1u << random.between(0, 30)); break;
      case 3: total = random.between(1, 24); break;
      case 4: announced = payload = max_bytes; break;
      default: break;
    }
    if (!faults) payload = announced = std::min(announced, max_bytes), total = ~size_t(0);
    send(announced, payload, total, faults && random.percent(5));
  }

  void send_latest() {
    for (size_t i = 0; i < latest; i++) {
      if (!bench.random.percent(40)) continue;
      const tb::Message message = tb::frame(bench.random, 9, 1, bench.random.between(0, 60));
      sources[2 + i].send(message);
      tb::Message payload;
      payload.bytes.assign(message.bytes.begin() + tb::header_bytes, message.bytes.end());
      newest[i].push_back(payload);
    }
  }

  void finish(uint64_t bound) {
    const auto pending = [this] {
      if (!sent.empty() || !expected.empty() || inputs_ended < works.size()) return true;
      for (const auto& queue : newest)
        if (!queue.empty()) return true;
      return !sources[0].empty() || !sources[1].empty();
    };
    for (uint64_t i = 0; pending(); i++) {
      if (i == bound) tb::fail("%zu messages did not come out", expected.size());
      step();
    }
    for (int i = 0; i < 10; i++) step();
    const uint64_t wanted[] = {counts.published, 0, counts.small, counts.overlong, counts.damaged,
                               counts.drained};
    for (unsigned i = 0; i < 6; i++) {
      const uint64_t found = read(3 + i);
      if (i == 1) busy = found;
      else if (found != wanted[i])
        tb::fail("register %u is %llu, not %llu", 3 + i, (unsigned long long)found,
                 (unsigned long long)wanted[i]);
    }
    if (read(2) != 1) tb::fail("not idle");
    if ((read(0) & 0xffff) != publisher) tb::fail("the shape has another publisher");
  }
};

// Any mixture of messages, right and wrong, while the host switches the node off and on.
static void mixture(const tb::Options& options, unsigned stalls, uint64_t messages) {
  Shell shell(options, stalls, true);
  for (uint64_t i = 0; i < messages; i++) {
    shell.send_any();
    shell.send_latest();
    for (uint64_t c = shell.bench.random.between(0, 60); c > 0; c--) shell.step();
    if (shell.bench.random.percent(4)) {
      // Off for a while: what has begun goes out, and nothing new begins, but may be drained.
      shell.control(false, shell.bench.random.percent(50));
      for (uint64_t c = shell.bench.random.between(0, 400); c > 0; c--) shell.step();
      shell.control(true, false);
    }
  }
  shell.finish(messages * 4000);
}

// Nothing stalls: an input message takes 3 cycles and its payload's beats, and so does an output;
// where the phases overlap nothing else.
static void full_speed(const tb::Options& options) {
  Shell shell(options, 0, false);
  const uint64_t messages = 20, payload = std::min<size_t>(max_bytes, 240);
  uint64_t beats = 0;
  for (uint64_t i = 0; i < messages; i++) {
    shell.send(payload, payload, ~size_t(0), false);
    beats += 3 + (payload + 7) / 8;
  }
  const uint64_t begin = shell.bench.cycle;
  shell.finish(100000);
  tb::report("beats", beats);
  tb::report("busy", shell.busy);
  tb::report("cycles", shell.bench.cycle - begin);
}

int main(int count, char** words) {
  const tb::Options options(count, words);
  full_speed(options);
  mixture(options, 0, 100);
  mixture(options, 15, options.number("messages", 300));
}
