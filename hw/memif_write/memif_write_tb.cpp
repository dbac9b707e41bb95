// Testbench of memif_write. The reference model says from a message's bytes and its buffer's
// capacity alone what the completion has to say and which bytes the memory has to hold then.
#include "axi_memory.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr uint64_t block = 1 << 16;  // one buffer per block; what lies round it must stay untouched

struct Post {
  uint64_t address;
  uint32_t capacity;
  uint8_t tag;
  bool failed = false;  // the memory has answered one of its bursts with an error
};

struct Expected {
  tb::Message message;
  size_t index;  // of the post
};

struct Engine {
  tb::Bench bench;
  tb::Bytes memory;
  tb::AxiWriteMemory axi;
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;
  std::vector<Post> posts;
  std::vector<tb::Message> messages;
  size_t taken = 0;      // posts that the engine has taken
  size_t completed = 0;
  tb::Stalls post_stalls, done_stalls;
  bool posting = false, done_waits = false;
  uint64_t done_before = 0, done_cycle = 0;
  uint64_t cut = 0, damaged = 0, failed = 0, sum = 0;
  unsigned error_percent = 0;

  Engine(const tb::Options& options, tb::AxiBehaviour behaviour, unsigned stalls)
      : bench(options), axi(AXI_WRITE_PORT(*bench.dut, m_axi), bytes, memory, behaviour),
        post_stalls(stalls, 60), done_stalls(stalls, 200) {
    sources.emplace_back(AXIS_LANE(*bench.dut, s_axis, 0, bytes), tb::Stalls(stalls, 9));
    axi.respond = [this](const tb::AxiBurst& burst) {
      if (!bench.random.percent(error_percent)) return uint8_t(bench.random.next() & 1);
      const size_t index = burst.address / block;
      if (index < posts.size()) posts[index].failed = true;
      return uint8_t(2 + (bench.random.next() & 1));
    };
    bench.dut->desc_valid = 0;
    bench.dut->done_ready = 0;
    tb::reset(bench, sources, sinks);
  }
  void send(const tb::Message& message, uint32_t capacity, uint64_t offset) {
    posts.push_back({posts.size() * block + offset, capacity, uint8_t(bench.random.next())});
    messages.push_back(message);
    sources[0].send(message);
  }
  void step() {
    auto& dut = *bench.dut;
    if (!posting && taken < posts.size() && !post_stalls.pause(bench.random)) posting = true;
    dut.desc_valid = posting;
    if (posting) {
      dut.desc_address = posts[taken].address >> 6;
      dut.desc_capacity = posts[taken].capacity;
      dut.desc_tag = posts[taken].tag;
    }
    dut.done_ready = !done_stalls.pause(bench.random);
    axi.drive(bench.random, bench.cycle);
    tb::step(bench, sources, sinks, [&] {
      axi.sample(bench.random, bench.cycle);
      if (posting && dut.desc_ready) {
        posting = false;
        taken += 1;
      }
      const uint64_t done = uint64_t(dut.done_bytes) << 16 | uint64_t(dut.done_tag) << 8
          | dut.done_status;
      if (done_waits && (!dut.done_valid || done != done_before)) tb::fail("a completion changed");
      // What is complete is complete when it is offered, not only when it is taken.
      if (dut.done_valid && !done_waits) check();
      done_waits = dut.done_valid && !dut.done_ready;
      done_before = done;
      if (dut.done_valid && dut.done_ready) {
        completed += 1;
        done_cycle = bench.cycle;
      }
    });
  }
  void check() {
    const auto& dut = *bench.dut;
    if (completed >= taken) tb::fail("a completion too many");
    const Post& post = posts[completed];
    const tb::Message& message = messages[completed];
    uint32_t payload;
    std::memcpy(&payload, message.bytes.data() + 4, 4);
    const uint64_t announced = uint64_t(payload) + 24;
    const uint64_t n = std::min<uint64_t>({announced, post.capacity, message.bytes.size()});
    const bool is_cut = announced > post.capacity;
    const size_t last_beat = (message.bytes.size() - 1) / bytes;
    const bool is_damaged = message.damaged
        || (is_cut ? post.capacity > 0 && last_beat < (post.capacity - 1) / bytes
                   : announced != message.bytes.size());
    const unsigned status =
        unsigned(is_cut) | unsigned(is_damaged) << 1 | unsigned(post.failed) << 2;
    if (dut.done_tag != post.tag || dut.done_bytes != n || dut.done_status != status)
      tb::fail("message %zu: tag %u, %u bytes, status %u instead of %u, %llu, %u", completed,
               unsigned(dut.done_tag), unsigned(dut.done_bytes), unsigned(dut.done_status),
               unsigned(post.tag), (unsigned long long)n, status);
    const uint64_t begin = completed * block, end = begin + block;
    for (uint64_t at = begin; at < end; at++) {
      const bool inside = at >= post.address && at < post.address + n;
      if (inside && post.failed) continue;
      const uint8_t wanted = inside ? message.bytes[at - post.address] : tb::Bytes::untouched(at);
      if (memory.get(at) != wanted)
        tb::fail("message %zu of %llu bytes at %llx: address %llx holds %02x instead of %02x",
                 completed, (unsigned long long)n, (unsigned long long)post.address,
                 (unsigned long long)at, memory.get(at), wanted);
    }
    cut += is_cut;
    damaged += is_damaged;
    failed += post.failed;
    sum += n;
  }
  void finish() {
    const uint64_t bound = bench.cycle + 3000000;
    while (completed < posts.size() && bench.cycle < bound) step();
    if (completed < posts.size()) tb::fail("%zu of %zu completions came", completed, posts.size());
    for (int i = 0; i < 100; i++) step();
    const auto& dut = *bench.dut;
    if (dut.count_bytes != sum || dut.count_bytes != axi.bytes_written
        || dut.count_beats != axi.beats || dut.count_cut != cut || dut.count_damaged != damaged
        || dut.count_error != failed || axi.requested != axi.answered)
      tb::fail("the counts differ from what happened: %llu bytes in %llu beats",
               (unsigned long long)dut.count_bytes, (unsigned long long)dut.count_beats);
  }
  // Any length, announced rightly or not, against any capacity.
  void send_any(uint32_t sequence) {
    auto& random = bench.random;
    const uint64_t most = random.percent(20) ? 9000 : random.percent(50) ? 700 : 100;
    const size_t announced = random.between(0, most);
    size_t actual = announced;
    if (random.percent(15)) actual = random.between(0, announced);
    if (random.percent(10)) actual = announced + random.between(1, 200);
    tb::Message message = tb::frame(random, 1, sequence, announced, actual);
    message.damaged = random.percent(10);
    uint32_t capacity = 24 + announced + random.between(0, 2) * random.between(0, 64);
    if (random.percent(20)) capacity = random.between(0, 24 + announced);
    const uint64_t offset = 64 * random.between(64, 500);
    send(message, capacity, offset);
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  {
    // One message as long as 20 bursts, a memory of 40 cycles.
    Engine engine(options, {40, 40, 0, 1}, 0);
    const size_t size = 20 * 64 * bytes > 32768 ? 32768 : 20 * 64 * bytes;
    engine.send(tb::frame(engine.bench.random, 1, 0, size - 24), size, 4096);
    const uint64_t begin = engine.bench.cycle;
    engine.finish();
    tb::report("message_beats", size / bytes);
    tb::report("message_bytes", size);
    tb::report("first_beat_cycles", engine.axi.first_beat - begin);
    tb::report("beat_cycles", engine.axi.last_beat - engine.axi.first_beat + 1);
    tb::report("completion_cycles", engine.done_cycle - engine.axi.last_beat);
    tb::report("most_outstanding", engine.axi.most_outstanding);
    tb::report("bytes_written", engine.axi.bytes_written);
    tb::report("beats", engine.axi.beats);
  }
  {
    // Many messages of 4 beats: nothing waits for responses.
    Engine engine(options, {40, 40, 0, 1}, 0);
    for (uint32_t i = 0; i < 100; i++)
      engine.send(tb::frame(engine.bench.random, 1, i, 4 * bytes - 24), 64 * 64, 4096);
    engine.finish();
    tb::report("small_beats", engine.axi.beats);
    tb::report("small_cycles", engine.axi.last_beat - engine.axi.first_beat + 1);
  }
  Engine engine(options, {1, 120, 5, 30}, 5);
  const uint64_t many = options.number("messages", 300);
  for (uint32_t i = 0; i < many; i++) engine.send_any(i);
  engine.error_percent = 3;
  engine.finish();
  tb::report("cut", engine.cut);
  tb::report("damaged", engine.damaged);
  tb::report("failed", engine.failed);
}
