// Testbench of memif_stop: a master with random bursts and stalls in front of a memory, stops at any
// time, some taken back before memory is at rest, and resets of the master while it is stopped. The
// reference model is the master's own list of bursts: what memory has taken it has whole, nothing
// else, and nothing at all happens at its port between `stopped` and the end of the stop.
#include "axi_memory.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr uint64_t part = 1 << 18;  // of the memory: writes, then reads

struct Burst {
  uint64_t address;
  unsigned beats;
  unsigned done = 0;
  std::vector<uint8_t> data;     // of a write
  std::vector<bool> strobes = {};
};

struct Stop {
  tb::Bench bench;
  tb::Bytes memory;
  tb::AxiWriteMemory write_memory;
  tb::AxiReadMemory read_memory;
  std::vector<tb::Source> no_sources;
  std::vector<tb::Sink> no_sinks;
  std::vector<uint8_t> golden = std::vector<uint8_t>(part);
  std::deque<Burst> unsent, unanswered, unread;  // writes: data to go, answers to come; reads
  Burst write{}, read{};                         // on offer
  bool aw = false, ar = false, busy = true;
  bool aw_seen = false, ar_seen = false;         // by memory, and not taken
  tb::Stalls aw_stalls, ar_stalls;
  uint64_t write_place = 0, read_place = 0, writes = 0, reads = 0;
  uint64_t waiting = 0, late = 0;                // cycles of the stop under way, and the longest one
  uint64_t held = 0;                             // addresses on offer while all was at rest
  bool most_beats = false;

  Stop(const tb::Options& options, tb::AxiBehaviour behaviour, unsigned stalls)
      : bench(options), write_memory(AXI_WRITE_PORT(*bench.dut, m_axi), bytes, memory, behaviour),
        read_memory(AXI_READ_PORT(*bench.dut, m_axi), bytes, memory, behaviour),
        aw_stalls(stalls, 40), ar_stalls(stalls, 40) {
    for (uint64_t a = 0; a < part; a++) golden[a] = tb::Bytes::untouched(a);
    auto& dut = *bench.dut;
    dut.stop = 0;
    dut.s_axi_awvalid = dut.s_axi_wvalid = dut.s_axi_arvalid = 0;
    dut.s_axi_bready = dut.s_axi_rready = 1;
    tb::reset(bench, no_sources, no_sinks);
  }
  Burst next(uint64_t& place) {
    const uint64_t to_page_end = (4096 - place % 4096) / bytes;
    const uint64_t longest = std::min<uint64_t>(to_page_end, 64);
    const unsigned beats = unsigned(most_beats ? longest : bench.random.between(1, longest));
    const Burst burst{place, beats, 0, {}};
    place = (place + beats * bytes) % part;
    return burst;
  }
  void drive() {
    auto& dut = *bench.dut;
    auto& random = bench.random;
    if (busy && !aw && unanswered.size() < 100 && !aw_stalls.pause(random)) {
      write = next(write_place);
      for (size_t i = 0; i < write.beats * bytes; i++) {
        write.data.push_back(uint8_t(random.next()));
        write.strobes.push_back(most_beats || random.percent(80));
      }
      aw = true;
      unsent.push_back(write);
    }
    if (busy && !ar && unread.size() < 100 && !ar_stalls.pause(random)) {
      read = next(read_place);
      ar = true;
    }
    dut.s_axi_awvalid = aw;
    dut.s_axi_awaddr = write.address;
    dut.s_axi_awlen = write.beats - 1;
    // All data of an address that is on offer, without a pause.
    dut.s_axi_wvalid = !unsent.empty();
    if (!unsent.empty()) {
      const Burst& burst = unsent.front();
      std::memcpy(&dut.s_axi_wdata, burst.data.data() + burst.done * bytes, bytes);
      uint64_t strobes = 0;
      for (size_t i = 0; i < bytes; i++)
        strobes |= uint64_t(burst.strobes[burst.done * bytes + i]) << i;
      std::memcpy(&dut.s_axi_wstrb, &strobes, bytes / 8);
      dut.s_axi_wlast = burst.done + 1 == burst.beats;
    }
    dut.s_axi_arvalid = ar;
    dut.s_axi_araddr = part + read.address;
    dut.s_axi_arlen = read.beats - 1;
  }
  void sample() {
    auto& dut = *bench.dut;
    if (dut.s_axi_awvalid && dut.s_axi_awready) {
      unanswered.push_back(write);
      aw = false;
      writes += 1;
    }
    if (dut.s_axi_wvalid && dut.s_axi_wready && ++unsent.front().done == unsent.front().beats)
      unsent.pop_front();
    if (dut.s_axi_bvalid) {
      if (unanswered.empty()) tb::fail("an answer to nothing");
      const Burst& burst = unanswered.front();
      for (size_t i = 0; i < burst.data.size(); i++)
        if (burst.strobes[i]) golden[burst.address + i] = burst.data[i];
      unanswered.pop_front();
    }
    if (dut.s_axi_arvalid && dut.s_axi_arready) {
      unread.push_back(read);
      ar = false;
      reads += 1;
    }
    if (dut.s_axi_rvalid) {
      if (unread.empty()) tb::fail("a beat of nothing");
      Burst& burst = unread.front();
      const uint8_t* data = reinterpret_cast<const uint8_t*>(&dut.s_axi_rdata);
      for (size_t i = 0; i < bytes; i++)
        if (data[i] != tb::Bytes::untouched(part + burst.address + burst.done * bytes + i))
          tb::fail("beat %u of the burst from %llx is another one", burst.done,
                   (unsigned long long)burst.address);
      burst.done += 1;
      if (bool(dut.s_axi_rlast) != (burst.done == burst.beats)) tb::fail("rlast");
      if (burst.done == burst.beats) unread.pop_front();
    }
  }
  // What a stop promises, and that nothing waits without one while there is room.
  void look() {
    auto& dut = *bench.dut;
    if (dut.stop && ((dut.m_axi_awvalid && !aw_seen) || (dut.m_axi_arvalid && !ar_seen)))
      tb::fail("a burst begins during a stop");
    aw_seen = dut.m_axi_awvalid && !dut.m_axi_awready;
    ar_seen = dut.m_axi_arvalid && !dut.m_axi_arready;
    if (!dut.stop && dut.stopped) tb::fail("stopped without a stop");
    const bool writes = unanswered.size() < P_OUTSTANDING, reads = unread.size() < P_OUTSTANDING;
    if (!dut.stop && ((aw && writes && !dut.m_axi_awvalid) || (ar && reads && !dut.m_axi_arvalid)))
      tb::fail("an address waits without a stop");
    if (!dut.stopped) return;
    if (dut.m_axi_awvalid || dut.m_axi_wvalid || dut.m_axi_arvalid) tb::fail("memory sees something");
    if (!unanswered.empty() || !unread.empty()) tb::fail("at rest with a burst under way");
    held += aw || ar;
  }
  void step() {
    write_memory.drive(bench.random, bench.cycle);
    read_memory.drive(bench.random, bench.cycle);
    drive();
    tb::step(bench, no_sources, no_sinks, [&] {
      look();
      sample();
      write_memory.sample(bench.random, bench.cycle);
      read_memory.sample(bench.random, bench.cycle);
    });
  }
  // Stops, and waits until memory is at rest.
  void stop() {
    auto& dut = *bench.dut;
    dut.stop = 1;
    waiting = 0;
    for (dut.eval(); !dut.stopped; dut.eval()) {
      step();
      if (++waiting > 50000) tb::fail("memory never comes to rest");
    }
    late = std::max(late, waiting);
  }
  // Takes a stop back after so many cycles, as a host does that renews its lease late. Says whether
  // bursts were under way then.
  bool stop_for(uint64_t cycles) {
    auto& dut = *bench.dut;
    dut.stop = 1;
    for (; cycles > 0; cycles--) step();
    dut.eval();
    const bool early = !dut.stopped;
    go();
    return early;
  }
  // The master forgets everything, as a reset makes it.
  void forget() {
    aw = ar = false;
    unsent.clear();
  }
  void go() { bench.dut->stop = 0; }
  void finish() {
    busy = false;
    for (uint64_t i = 0; aw || ar || !unanswered.empty() || !unread.empty(); i++) {
      if (i > 100000) tb::fail("a burst is never answered");
      step();
    }
    for (uint64_t a = 0; a < part; a++)
      if (memory.get(a) != golden[a]) tb::fail("byte %llx was not written so", (unsigned long long)a);
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  {
    // Nothing in the way: a beat per cycle in each direction.
    Stop whole(options, {40, 40, 0, 1}, 0);
    whole.most_beats = true;
    for (int i = 0; i < 3000; i++) whole.step();
    whole.finish();
    tb::report("beats", whole.write_memory.beats);
    const auto& write = whole.write_memory;
    const auto& read = whole.read_memory;
    tb::report("write_gaps", write.last_beat - write.first_beat + 1 - write.beats);
    tb::report("read_gaps", read.last_beat - read.first_beat + 1 - read.beats);
  }
  Stop all(options, {1, 120, 5, 30}, 5);
  const uint64_t many = options.number("stops", 200);
  uint64_t resets = 0, cut = 0, taken_back = 0;
  for (uint64_t i = 0; i < many; i++) {
    auto& random = all.bench.random;
    for (uint64_t left = random.between(1, 400); left > 0; left--) all.step();
    if (random.percent(40)) {
      taken_back += all.stop_for(random.between(1, 60));
      for (uint64_t left = random.between(0, 20); left > 0; left--) all.step();
    }
    all.stop();
    for (uint64_t left = random.between(0, 60); left > 0; left--) all.step();
    if (random.percent(50)) {
      resets += 1;
      cut += all.aw || all.ar;
      all.forget();
      for (uint64_t left = random.between(0, 9); left > 0; left--) all.step();
    }
    all.go();
  }
  all.finish();
  tb::report("writes", all.writes);
  tb::report("reads", all.reads);
  tb::report("resets", resets);
  tb::report("kept", many - resets);
  tb::report("cut", cut);
  tb::report("taken_back", taken_back);
  tb::report("held", all.held);
  tb::report("longest_stop", all.late);
}
