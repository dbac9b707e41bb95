// Testbench of memif_mmu: an engine with random bursts on one side, a memory on the other. The
// reference model translates each address from the list of windows by itself: what may pass has to
// be in memory at its translated place, what may not has to be answered with DECERR and to leave
// memory alone.
#include "axi_memory.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr size_t windows = P_WINDOWS;
constexpr uint64_t pages = 64;  // addresses are chosen among so many pages

struct Window {
  uint64_t first = 1, last = 0, offset = 0;
  bool readable = false, writable = false;
};

struct Burst {
  uint64_t address;
  unsigned beats;
  int64_t physical;  // -1: to be refused
};

struct Mmu {
  tb::Bench bench;
  tb::Bytes memory;
  tb::Bytes model;   // what memory has to hold, by physical address
  tb::Bytes source;  // what reads find: nobody writes there meanwhile
  tb::AxiWriteMemory writes;
  tb::AxiReadMemory reads;
  std::vector<tb::Source> no_sources;
  std::vector<tb::Sink> no_sinks;
  std::array<Window, windows> table;
  tb::Stalls aw, w, b, ar, r;
  bool aw_on = false, w_on = false, ar_on = false;
  std::deque<Burst> aw_queue, ar_queue, aw_taken, ar_taken;
  std::deque<tb::Beat> w_queue;
  std::deque<std::vector<tb::Beat>> data;  // of bursts that are not answered
  unsigned read_beat = 0;
  uint64_t refused = 0, passed = 0, first_refused = 0, first_beat = 0, last_beat = 0, read_beats = 0;
  bool refused_any = false;

  Mmu(const tb::Options& options, tb::AxiBehaviour behaviour)
      : bench(options), writes(AXI_WRITE_PORT(*bench.dut, m_axi), bytes, memory, behaviour),
        reads(AXI_READ_PORT(*bench.dut, m_axi), bytes, source, behaviour),
        aw(behaviour.stalls, 20), w(behaviour.stalls, 9), b(behaviour.stalls, 30),
        ar(behaviour.stalls, 20), r(behaviour.stalls, 9) {
    auto& dut = *bench.dut;
    dut.s_axi_awvalid = dut.s_axi_wvalid = dut.s_axi_arvalid = 0;
    dut.s_axi_bready = dut.s_axi_rready = 0;
    for (uint64_t at = 0; at < 2 * pages << 12; at++) source.set(at, uint8_t(bench.random.next()));
    dut.window_write = 0;
    tb::reset(bench, no_sources, no_sinks);
  }
  void set(size_t number, const Window& window) {
    auto& dut = *bench.dut;
    dut.window_write = 1;
    dut.window_number = number;
    dut.window_first = window.first;
    dut.window_last = window.last;
    dut.window_offset = window.offset;
    dut.window_readable = window.readable;
    dut.window_writable = window.writable;
    step();
    dut.window_write = 0;
    table[number] = window;
  }
  int64_t translate(uint64_t address, unsigned beats, bool write) const {
    if ((address & 4095) + beats * bytes > 4096) return -1;
    for (const Window& window : table) {
      const uint64_t page = address >> 12;
      if ((write ? window.writable : window.readable) && page >= window.first && page <= window.last)
        return int64_t(((page + window.offset) << 12 & ((1ull << P_ADDRESS_WIDTH) - 1))
                       | (address & 4095));
    }
    return -1;
  }
  void write(uint64_t address, unsigned beats) {
    aw_queue.push_back({address, beats, translate(address, beats, true)});
    std::vector<tb::Beat> all;
    for (unsigned i = 0; i < beats; i++) {
      tb::Beat beat;
      for (size_t byte = 0; byte < bytes; byte++) beat.data[byte] = uint8_t(bench.random.next());
      beat.keep = bench.random.next() & (bytes == 64 ? ~0ull : (1ull << bytes) - 1);
      beat.last = i + 1 == beats;
      all.push_back(beat);
      w_queue.push_back(beat);
    }
    data.push_back(all);
  }
  void read(uint64_t address, unsigned beats) {
    ar_queue.push_back({address, beats, translate(address, beats, false)});
  }
  bool busy() const {
    return !aw_queue.empty() || !aw_taken.empty() || !ar_queue.empty() || !ar_taken.empty();
  }
  void step() {
    auto& dut = *bench.dut;
    auto& random = bench.random;
    aw_on = aw_on || (!aw_queue.empty() && !aw.pause(random));
    w_on = w_on || (!w_queue.empty() && !w.pause(random));
    ar_on = ar_on || (!ar_queue.empty() && !ar.pause(random));
    dut.s_axi_awvalid = aw_on;
    dut.s_axi_wvalid = w_on;
    dut.s_axi_arvalid = ar_on;
    if (aw_on) {
      dut.s_axi_awaddr = aw_queue.front().address;
      dut.s_axi_awlen = aw_queue.front().beats - 1;
    }
    if (w_on) {
      std::memcpy(&dut.s_axi_wdata, w_queue.front().data.data(), bytes);
      std::memcpy(&dut.s_axi_wstrb, &w_queue.front().keep, bytes / 8);
      dut.s_axi_wlast = w_queue.front().last;
    }
    if (ar_on) {
      dut.s_axi_araddr = ar_queue.front().address;
      dut.s_axi_arlen = ar_queue.front().beats - 1;
    }
    dut.s_axi_bready = !b.pause(random);
    dut.s_axi_rready = !r.pause(random);
    writes.drive(random, bench.cycle);
    reads.drive(random, bench.cycle);
    tb::step(bench, no_sources, no_sinks, [&] {
      writes.sample(random, bench.cycle);
      reads.sample(random, bench.cycle);
      look();
    });
  }
  void look() {
    auto& dut = *bench.dut;
    if (dut.s_axi_bvalid && dut.s_axi_bready) answer();
    if (dut.s_axi_rvalid && dut.s_axi_rready) beat();
    if (aw_on && dut.s_axi_awready) {
      aw_taken.push_back(aw_queue.front());
      aw_queue.pop_front();
      aw_on = false;
    }
    if (w_on && dut.s_axi_wready) {
      w_queue.pop_front();
      w_on = false;
    }
    if (ar_on && dut.s_axi_arready) {
      ar_taken.push_back(ar_queue.front());
      ar_queue.pop_front();
      ar_on = false;
    }
  }
  void count_refused(uint64_t address) {
    if (!refused_any) first_refused = address;
    refused_any = true;
    refused += 1;
  }
  void answer() {
    if (aw_taken.empty()) tb::fail("an answer too many");
    const Burst burst = aw_taken.front();
    const bool good = burst.physical >= 0;
    if (bench.dut->s_axi_bresp != (good ? 0 : 3))
      tb::fail("a write to %llx is answered with %u", (unsigned long long)burst.address,
               bench.dut->s_axi_bresp);
    for (unsigned i = 0; i < burst.beats && good; i++)
      for (size_t byte = 0; byte < bytes; byte++)
        if (data.front()[i].keep >> byte & 1) {
          const uint64_t at = burst.physical + i * bytes + byte;
          model.set(at, data.front()[i].data[byte]);
          if (memory.get(at) != model.get(at)) tb::fail("address %llx is not written",
                                                        (unsigned long long)at);
        }
    if (good) passed += 1;
    else count_refused(burst.address);
    aw_taken.pop_front();
    data.pop_front();
  }
  void beat() {
    auto& dut = *bench.dut;
    if (ar_taken.empty()) tb::fail("a beat too many");
    const Burst burst = ar_taken.front();
    const bool good = burst.physical >= 0;
    const bool last = read_beat + 1 == burst.beats;
    if (dut.s_axi_rresp != (good ? 0 : 3) || dut.s_axi_rlast != last)
      tb::fail("a read of %llx: response %u, last %u at beat %u of %u",
               (unsigned long long)burst.address, dut.s_axi_rresp, dut.s_axi_rlast, read_beat + 1,
               burst.beats);
    const auto* found = reinterpret_cast<const uint8_t*>(&dut.s_axi_rdata);
    for (size_t byte = 0; byte < bytes && good; byte++)
      if (found[byte] != source.get(burst.physical + read_beat * bytes + byte))
        tb::fail("a read of %llx gives other bytes", (unsigned long long)burst.address);
    for (size_t byte = 0; byte < bytes && !good; byte++)
      if (found[byte] != 0) tb::fail("a refused read shows data");
    if (first_beat == 0) first_beat = bench.cycle;
    last_beat = bench.cycle;
    read_beats += 1;
    read_beat = last ? 0 : read_beat + 1;
    if (!last) return;
    if (good) passed += 1;
    else count_refused(burst.address);
    ar_taken.pop_front();
  }
  void finish() {
    const uint64_t bound = bench.cycle + 1000000;
    while (busy() && bench.cycle < bound) step();
    if (busy()) tb::fail("bursts are not answered");
    for (int i = 0; i < 20; i++) step();
    if (bench.dut->count_refused != refused) tb::fail("%u refused", bench.dut->count_refused);
    if (refused_any && bench.dut->refused_address != first_refused)
      tb::fail("refused_address is %llx", (unsigned long long)bench.dut->refused_address);
    for (uint64_t at = 0; at < 2 * pages << 12; at++)
      if (memory.get(at) != model.get(at))
        tb::fail("address %llx was written", (unsigned long long)at);
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  {
    // Linear data in bursts of 2 beats, both directions at once: no gap.
    Mmu mmu(options, {40, 40, 0, 1});
    mmu.set(0, {0, pages - 1, 3, true, true});
    for (unsigned i = 0; i < 400; i++) {
      mmu.write(i * 4 * bytes, 4);
      mmu.read(i * 4 * bytes, 4);
    }
    mmu.finish();
    tb::report("read_beats", mmu.read_beats);
    tb::report("read_cycles", mmu.last_beat - mmu.first_beat + 1);
    tb::report("write_beats", mmu.writes.beats);
    tb::report("write_cycles", mmu.writes.last_beat - mmu.writes.first_beat + 1);
  }
  Mmu mmu(options, {1, 60, 8, 20});
  auto& random = mmu.bench.random;
  const uint64_t rounds = options.number("rounds", 40);
  for (uint64_t round = 0; round < rounds; round++) {
    for (size_t i = 0; i < windows; i++) {
      const uint64_t first = random.between(0, pages - 1);
      mmu.set(i, {first, first + random.between(0, 8), random.between(0, 20) - 10 * (first > 10),
                  random.percent(80), random.percent(80)});
    }
    for (int i = 0; i < 30; i++) {
      // Mostly where a window begins or ends.
      const Window& window = mmu.table[random.between(0, windows - 1)];
      uint64_t page = random.percent(50) ? window.first : window.last;
      page = (page + random.between(0, 2) + pages - 1) % pages;
      const unsigned beats = random.between(1, 16);
      const uint64_t end = 4096 / bytes;
      const uint64_t from = random.percent(50)
          ? std::min(end - beats + random.between(0, 1), end - 1) : random.between(0, end - 1);
      const uint64_t address = (page << 12) + from * bytes;
      // A burst that crosses the page is one that no engine of the library makes.
      if (random.percent(50)) mmu.write(address, beats);
      else mmu.read(address, beats);
    }
    mmu.finish();
  }
  tb::report("refused", mmu.refused);
  tb::report("passed", mmu.passed);
}
