// Testbench of memif_read. The reference model is the memory itself: a message is the bytes of its
// segments one after the other, damaged when the memory answered one of its bursts with an error or
// when it has a segment that must not be posted.
#include "axi_memory.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr uint64_t block = 1 << 17;  // one segment per block, so that a burst tells its segment

struct Segment {
  uint64_t address;
  uint32_t length;
  bool last;
  size_t message;
};

struct Posted {
  std::vector<uint8_t> content;
  uint8_t tag;  // of its last segment
  uint64_t beats_read;
  bool damaged;
};

struct Engine {
  tb::Bench bench;
  tb::Bytes memory;
  tb::AxiReadMemory axi;
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;
  std::vector<Segment> segments;
  std::vector<Posted> messages;
  size_t taken = 0, completed = 0;
  size_t next = 0;     // the message that comes out next
  size_t started = 0;  // messages whose first segment was taken
  tb::Stalls post_stalls, done_stalls;
  bool posting = false, done_waits = false, begun = false;
  unsigned done_before = 0;
  uint64_t failed = 0, sum = 0, length = 0, first_out = 0, last_out = 0;
  unsigned error_percent = 0;

  Engine(const tb::Options& options, tb::AxiBehaviour behaviour, unsigned stalls,
         unsigned out_stalls)
      : bench(options), axi(AXI_READ_PORT(*bench.dut, m_axi), bytes, memory, behaviour),
        post_stalls(stalls, 60), done_stalls(stalls, 200) {
    sinks.emplace_back("stream", AXIS_LANE(*bench.dut, m_axis, 0, bytes),
                       tb::Stalls(out_stalls, 40),
                       [this](const tb::Message& found) { take(found); });
    axi.respond = [this](const tb::AxiBurst& burst) {
      if (!bench.random.percent(error_percent)) return uint8_t(bench.random.next() & 1);
      messages[segments[burst.address / block].message].damaged = true;
      return uint8_t(2 + (bench.random.next() & 1));
    };
    bench.dut->desc_valid = 0;
    bench.dut->done_ready = 0;
    tb::reset(bench, sources, sinks);
  }
  // A message of segments: offset in their block, bytes.
  void post(const std::vector<std::pair<uint64_t, uint32_t>>& parts) {
    Posted message{{}, uint8_t(bench.random.next()), 0, false};
    for (size_t i = 0; i < parts.size(); i++) {
      const bool last = i + 1 == parts.size();
      const uint64_t address = segments.size() * block + parts[i].first;
      uint32_t size = parts[i].second;
      segments.push_back({address, size, last, messages.size()});
      length += size;
      if (size == 0 || (!last && size % 8 != 0)) message.damaged = true;
      message.beats_read += size == 0 ? 1 : (address % bytes + size + bytes - 1) / bytes;
      if (!last) size = (size + 7) / 8 * 8;
      for (uint64_t k = 0; k < size; k++) {
        memory.set(address + k, uint8_t(bench.random.next()));
        message.content.push_back(memory.get(address + k));
      }
    }
    messages.push_back(message);
  }
  void take(const tb::Message& found) {
    if (next >= messages.size()) tb::fail("a message of %zu bytes that nobody asked for",
                                          found.bytes.size());
    const Posted& post = messages[next];
    if (found.bytes.size() != post.content.size() || found.damaged != post.damaged)
      tb::fail("message %zu: %zu bytes, damaged %d instead of %zu, %d", next, found.bytes.size(),
               found.damaged, post.content.size(), post.damaged);
    for (size_t i = 0; i < found.bytes.size(); i++)
      if (found.bytes[i] != post.content[i]) tb::fail("message %zu: byte %zu", next, i);
    next += 1;
  }
  void step() {
    auto& dut = *bench.dut;
    if (!posting && taken < segments.size() && !post_stalls.pause(bench.random)) posting = true;
    dut.desc_valid = posting;
    if (posting) {
      const Segment& segment = segments[taken];
      dut.desc_address = segment.address >> 3;
      dut.desc_bytes = segment.length;
      dut.desc_last = segment.last;
      // Of the tags the last one counts.
      dut.desc_tag = messages[segment.message].tag ^ (segment.last ? 0 : 0x55);
    }
    dut.done_ready = !done_stalls.pause(bench.random);
    axi.drive(bench.random, bench.cycle);
    const uint64_t before = sinks[0].beats;
    tb::step(bench, sources, sinks, [&] {
      axi.sample(bench.random, bench.cycle);
      const unsigned done = unsigned(dut.done_tag) << 1 | dut.done_error;
      if (done_waits && (!dut.done_valid || done != done_before)) tb::fail("a completion changed");
      done_waits = dut.done_valid && !dut.done_ready;
      done_before = done;
      if (dut.done_valid && dut.done_ready) complete();
      if (posting && dut.desc_ready) {
        posting = false;
        taken += 1;
      }
    });
    if (sinks[0].beats != before) {
      if (first_out == 0) first_out = bench.cycle;
      last_out = bench.cycle;
    }
  }
  void complete() {
    if (taken == 0 || completed > segments[taken - 1].message) tb::fail("a completion too many");
    const Posted& post = messages[completed];
    if (bench.dut->done_tag != post.tag || bool(bench.dut->done_error) != post.damaged)
      tb::fail("message %zu: tag %u, error %u", completed, bench.dut->done_tag,
               bench.dut->done_error);
    // Every beat has come, and no burst of it is open.
    sum += post.beats_read;
    if (axi.beats < sum) tb::fail("message %zu is complete before its last beat", completed);
    failed += post.damaged;
    completed += 1;
  }
  void finish() {
    const uint64_t bound = bench.cycle + 3000000;
    const auto open = [&] { return completed < messages.size() || next < messages.size(); };
    while (open() && bench.cycle < bound) step();
    if (open()) tb::fail("%zu messages, %zu completions of %zu", next, completed, messages.size());
    for (int i = 0; i < 100; i++) step();
    const auto& dut = *bench.dut;
    if (dut.count_bytes != length || dut.count_beats != axi.beats || axi.beats != sum
        || dut.count_error != failed)
      tb::fail("the counts differ from what happened");
    if (axi.refused != 0) tb::fail("the memory had to wait with %llu beats",
                                   (unsigned long long)axi.refused);
  }
  void post_any() {
    auto& r = bench.random;
    const uint64_t most = r.percent(20) ? 20000 : r.percent(50) ? 700 : 60;
    std::vector<std::pair<uint64_t, uint32_t>> parts(
        r.percent(40) ? 1 : r.percent(80) ? r.between(2, 4) : r.between(5, 40));
    for (auto& [offset, size] : parts) {
      offset = 8 * r.between(0, 4000);
      size = r.percent(50) ? r.between(1, most) : r.between(1, 100);
      if (&size != &parts.back().second && !r.percent(1)) size = (size + 7) / 8 * 8;
      if (r.percent(1)) size = 0;
    }
    post(parts);
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  {
    // One long message, a memory of 40 cycles: a small segment, then a large one that begins and
    // ends in mid-beat.
    Engine engine(options, {40, 40, 0, 1}, 0, 0);
    const uint32_t size = 20 * 64 * bytes;
    engine.post({{64, 24}, {4096 + bytes - 8, size - 3}});
    const uint64_t begin = engine.bench.cycle;
    engine.finish();
    tb::report("message_beats", (24 + size - 3 + bytes - 1) / bytes);
    tb::report("message_bytes", 24 + size - 3);
    tb::report("beats", engine.axi.beats);
    tb::report("first_beat_cycles", engine.first_out - begin);
    tb::report("beat_cycles", engine.last_out - engine.first_out + 1);
    tb::report("most_outstanding", engine.axi.most_outstanding);
    tb::report("count_bytes", engine.bench.dut->count_bytes);
  }
  {
    // Many messages of 2 beats: they follow each other without a gap.
    Engine engine(options, {20, 20, 0, 1}, 0, 0);
    for (uint32_t i = 0; i < 200; i++) engine.post({{4096, 2 * bytes}});
    engine.finish();
    tb::report("small_beats", engine.axi.beats);
    tb::report("small_cycles", engine.last_out - engine.first_out + 1);
  }
  Engine engine(options, {1, 120, 5, 30}, 5, 10);
  const uint64_t many = options.number("messages", 300);
  for (uint64_t i = 0; i < many; i++) engine.post_any();
  engine.error_percent = 1;
  engine.finish();
  tb::report("failed", engine.failed);
  tb::report("unharmed", engine.completed - engine.failed);
}
