// Testbench of axis_header: headers and payloads with random stalls, each for itself. The reference
// model puts the bytes of both one behind the other.
#include "axis.hpp"

constexpr size_t bytes = P_WIDTH / 8;

struct Header {
  std::array<uint8_t, 24> bytes;
  bool empty, damaged;
  size_t payload_beats;  // of its payload
};

struct Framer {
  tb::Bench bench;
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;
  std::deque<Header> headers;
  std::deque<tb::Message> expected;
  tb::Stalls stalls;
  bool offering = false;
  uint64_t taken_beats = 0;  // of the payload that belongs to the header on offer
  uint64_t first = 0, last = 0;

  Framer(const tb::Options& options, unsigned percent) : bench(options), stalls(percent, 9) {
    auto& dut = *bench.dut;
    sources.emplace_back(AXIS_LANE(dut, s_axis, 0, bytes), tb::Stalls(percent, 9));
    sinks.emplace_back("frame", AXIS_LANE(dut, m_axis, 0, bytes), tb::Stalls(percent, 9),
                       [this](const tb::Message& m) { tb::expect_next("frame", expected, m); });
    dut.header_valid = 0;
    tb::reset(bench, sources, sinks);
  }
  void send(size_t payload, bool header_damaged, bool payload_damaged) {
    tb::Message message, whole;
    message.damaged = payload_damaged && payload > 0;
    for (size_t i = 0; i < payload; i++) message.bytes.push_back(uint8_t(bench.random.next()));
    Header header{{}, payload == 0, header_damaged, message.beats(bytes)};
    for (auto& byte : header.bytes) byte = uint8_t(bench.random.next());
    whole.bytes.assign(header.bytes.begin(), header.bytes.end());
    whole.bytes.insert(whole.bytes.end(), message.bytes.begin(), message.bytes.end());
    whole.damaged = header.damaged || message.damaged;
    headers.push_back(header);
    expected.push_back(whole);
    if (payload > 0) sources[0].send(message);
  }
  void step() {
    auto& dut = *bench.dut;
    if (!offering && !headers.empty() && !stalls.pause(bench.random)) offering = true;
    dut.header_valid = offering;
    for (size_t i = 0; i < 24; i++)
      reinterpret_cast<uint8_t*>(&dut.header)[i] =
          offering ? headers.front().bytes[i] : uint8_t(bench.random.next());
    dut.header_empty = offering ? headers.front().empty : bench.random.next() & 1;
    // Known at last when the payload's last beat may be on offer.
    const bool late = offering && taken_beats + 1 < headers.front().payload_beats;
    dut.header_damaged = offering && headers.front().damaged && (!late || dut.header_damaged
        || bench.random.percent(10));
    tb::step(bench, sources, sinks, [&] {
      if (dut.s_axis_tvalid && dut.s_axis_tready) {
        taken_beats += 1;
        if (!offering) tb::fail("payload is taken without its header");
      }
      if (dut.m_axis_tvalid && dut.m_axis_tready) {
        if (first == 0) first = bench.cycle;
        last = bench.cycle;
      }
      const bool ends = dut.m_axis_tvalid && dut.m_axis_tready && dut.m_axis_tlast;
      if (bool(dut.header_ready) != ends) tb::fail("header_ready is not the frame's last beat");
      if (!ends) return;
      if (!offering) tb::fail("a frame without a header");
      headers.pop_front();
      offering = false;
      taken_beats = 0;
    });
  }
  void finish() {
    const uint64_t bound = bench.cycle + 1000000;
    while (!expected.empty() && bench.cycle < bound) step();
    if (!expected.empty()) tb::fail("%zu frames never came", expected.size());
    for (int i = 0; i < 20; i++) step();
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  {
    Framer framer(options, 0);
    uint64_t beats = 0;
    for (size_t i = 0; i < 200; i++) {
      const size_t payload = 16 * bytes - 24 + i;
      framer.send(payload, false, false);
      beats += (24 + payload + bytes - 1) / bytes;
    }
    framer.finish();
    tb::report("beats", beats);
    tb::report("cycles", framer.last - framer.first + 1);
  }
  Framer framer(options, 10);
  auto& random = framer.bench.random;
  uint64_t empty = 0, damaged = 0;
  for (uint64_t n = options.number("messages", 2000); n > 0; n--) {
    const size_t longest = random.percent(50) ? 90 : 700;
    const size_t payload = random.percent(15) ? 0 : random.between(1, longest);
    const bool bad = random.percent(15);
    framer.send(payload, bad, random.percent(15));
    empty += payload == 0;
    damaged += bad;
  }
  framer.finish();
  tb::report("empty", empty);
  tb::report("damaged", damaged);
}
