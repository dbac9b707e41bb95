// What the testbenches of translations share: an engine with random bursts on one side (s_axi), a
// memory on the other (m_axi). What may pass has to be in memory at its translated place, what may
// not has to be answered with DECERR and to leave memory alone. It must not know how addresses are
// translated: that is for the testbench, which says it for each burst when it is taken.
#pragma once

#include "axi_memory.hpp"

namespace tb {

struct Burst {
  uint64_t address;
  unsigned beats;
  int64_t physical;  // -1: to be refused
};

class AxiEngine {
 public:
  Bench bench;
  Bytes memory;
  Bytes model;   // what memory has to hold, by physical address
  Bytes source;  // what reads find: nobody writes there meanwhile
  AxiWriteMemory writes;
  AxiReadMemory reads;
  std::vector<Source> no_sources;
  std::vector<Sink> no_sinks;
  const size_t beat_bytes;
  const uint64_t memory_pages;
  Stalls aw, w, b, ar, r;
  bool aw_on = false, w_on = false, ar_on = false;
  std::deque<Burst> aw_queue, ar_queue, aw_taken, ar_taken;
  std::deque<Beat> w_queue;
  std::deque<std::vector<Beat>> data;  // of bursts that are not answered
  unsigned read_beat = 0;
  uint64_t refused = 0, passed = 0, first_refused = 0;
  uint64_t first_beat = 0, last_beat = 0, read_beats = 0;
  bool refused_any = false, first_refused_write = false;

  // A memory of so many pages.
  AxiEngine(const Options& options, AxiBehaviour behaviour, size_t beat_bytes,
            uint64_t memory_pages)
      : bench(options), writes(AXI_WRITE_PORT(*bench.dut, m_axi), beat_bytes, memory, behaviour),
        reads(AXI_READ_PORT(*bench.dut, m_axi), beat_bytes, source, behaviour),
        beat_bytes(beat_bytes), memory_pages(memory_pages),
        aw(behaviour.stalls, 20), w(behaviour.stalls, 9), b(behaviour.stalls, 30),
        ar(behaviour.stalls, 20), r(behaviour.stalls, 9) {
    auto& dut = *bench.dut;
    dut.s_axi_awvalid = dut.s_axi_wvalid = dut.s_axi_arvalid = 0;
    dut.s_axi_bready = dut.s_axi_rready = 0;
    for (uint64_t at = 0; at < memory_pages << 12; at++)
      source.set(at, uint8_t(bench.random.next()));
  }
  virtual ~AxiEngine() = default;
  void reset() { tb::reset(bench, no_sources, no_sinks); }
  // A reset between bursts: the module forgets its counts, memory keeps its bytes.
  void restart() {
    reset();
    refused = 0;
    refused_any = false;
  }
  // The page of memory to which bursts of this page go, or -1: they are refused.
  virtual int64_t translate(uint64_t page, bool write) const = 0;
  // What else is to be driven before the clock edge, and looked at when the outputs have settled.
  virtual void drive() {}
  virtual void sample() {}

  // The burst that is taken now.
  Burst taken(std::deque<Burst>& queue, bool write) const {
    Burst burst = queue.front();
    queue.pop_front();
    const int64_t page = translate(burst.address >> 12, write);
    if (page >= 0 && (burst.address & 4095) + burst.beats * beat_bytes <= 4096)
      burst.physical = page << 12 | int64_t(burst.address & 4095);
    return burst;
  }
  void write(uint64_t address, unsigned beats) {
    aw_queue.push_back({address, beats, -1});
    std::vector<Beat> all;
    for (unsigned i = 0; i < beats; i++) {
      Beat beat;
      for (size_t byte = 0; byte < beat_bytes; byte++)
        beat.data[byte] = uint8_t(bench.random.next());
      beat.keep = bench.random.next() & (beat_bytes == 64 ? ~0ull : (1ull << beat_bytes) - 1);
      beat.last = i + 1 == beats;
      all.push_back(beat);
      w_queue.push_back(beat);
    }
    data.push_back(all);
  }
  void read(uint64_t address, unsigned beats) {
    ar_queue.push_back({address, beats, -1});
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
      std::memcpy(&dut.s_axi_wdata, w_queue.front().data.data(), beat_bytes);
      std::memcpy(&dut.s_axi_wstrb, &w_queue.front().keep, beat_bytes / 8);
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
    drive();
    tb::step(bench, no_sources, no_sinks, [&] {
      writes.sample(random, bench.cycle);
      reads.sample(random, bench.cycle);
      sample();
      look();
    });
  }
  void look() {
    auto& dut = *bench.dut;
    if (dut.s_axi_bvalid && dut.s_axi_bready) answer();
    if (dut.s_axi_rvalid && dut.s_axi_rready) beat();
    if (aw_on && dut.s_axi_awready) {
      aw_taken.push_back(taken(aw_queue, true));
      aw_on = false;
    }
    if (w_on && dut.s_axi_wready) {
      w_queue.pop_front();
      w_on = false;
    }
    if (ar_on && dut.s_axi_arready) {
      ar_taken.push_back(taken(ar_queue, false));
      ar_on = false;
    }
  }
  void count_refused(uint64_t address, bool write) {
    if (!refused_any) {
      first_refused = address;
      first_refused_write = write;
    }
    refused_any = true;
    refused += 1;
  }
  void answer() {
    if (aw_taken.empty()) fail("an answer too many");
    const Burst burst = aw_taken.front();
    const bool good = burst.physical >= 0;
    if (bench.dut->s_axi_bresp != (good ? 0 : 3))
      fail("a write to %llx is answered with %u", (unsigned long long)burst.address,
               bench.dut->s_axi_bresp);
    for (unsigned i = 0; i < burst.beats && good; i++)
      for (size_t byte = 0; byte < beat_bytes; byte++)
        if (data.front()[i].keep >> byte & 1) {
          const uint64_t at = burst.physical + i * beat_bytes + byte;
          model.set(at, data.front()[i].data[byte]);
          if (memory.get(at) != model.get(at)) fail("address %llx is not written",
                                                        (unsigned long long)at);
        }
    if (good) passed += 1;
    else count_refused(burst.address, true);
    aw_taken.pop_front();
    data.pop_front();
  }
  void beat() {
    auto& dut = *bench.dut;
    if (ar_taken.empty()) fail("a beat too many");
    const Burst burst = ar_taken.front();
    const bool good = burst.physical >= 0;
    const bool last = read_beat + 1 == burst.beats;
    if (dut.s_axi_rresp != (good ? 0 : 3) || dut.s_axi_rlast != last)
      fail("a read of %llx: response %u, last %u at beat %u of %u",
               (unsigned long long)burst.address, dut.s_axi_rresp, dut.s_axi_rlast, read_beat + 1,
               burst.beats);
    const auto* found = reinterpret_cast<const uint8_t*>(&dut.s_axi_rdata);
    for (size_t byte = 0; byte < beat_bytes && good; byte++)
      if (found[byte] != source.get(burst.physical + read_beat * beat_bytes + byte))
        fail("a read of %llx gives other bytes", (unsigned long long)burst.address);
    for (size_t byte = 0; byte < beat_bytes && !good; byte++)
      if (found[byte] != 0) fail("a refused read shows data");
    if (first_beat == 0) first_beat = bench.cycle;
    last_beat = bench.cycle;
    read_beats += 1;
    read_beat = last ? 0 : read_beat + 1;
    if (!last) return;
    if (good) passed += 1;
    else count_refused(burst.address, false);
    ar_taken.pop_front();
  }
  void finish() {
    const uint64_t bound = bench.cycle + 1000000;
    while (busy() && bench.cycle < bound) step();
    if (busy()) fail("bursts are not answered");
    for (int i = 0; i < 20; i++) step();
    if (bench.dut->count_refused != refused) fail("%u refused", bench.dut->count_refused);
    if (refused_any && bench.dut->refused_address != first_refused)
      fail("refused_address is %llx", (unsigned long long)bench.dut->refused_address);
    if (refused_any && bool(bench.dut->refused_write) != first_refused_write)
      fail("refused_write is %u", unsigned(bench.dut->refused_write));
    for (uint64_t at = 0; at < memory_pages << 12; at++)
      if (memory.get(at) != model.get(at))
        fail("address %llx was written", (unsigned long long)at);
  }
};

}  // namespace tb
