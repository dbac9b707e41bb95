// Testbench of memif_share: masters with random bursts and stalls in front of one memory. The
// reference model is each master's own list of bursts: what it wrote must stand in its own part of
// the memory when it is answered, what it reads must be what stands there, errors must reach the
// master whose burst they belong to. paper_memif, which has the same ports, is tested here too: with
// page tables that name every page after itself.
#include "axi_memory.hpp"

#include <numeric>

constexpr size_t bytes = P_WIDTH / 8;
constexpr size_t ports = P_PORTS;
constexpr size_t address_bytes = 5;  // of one master among flat ports: ADDRESS_WIDTH is 40
constexpr uint64_t part = 1 << 20;   // of the memory, per master

#ifdef P_ENTRIES
// A turn of a master is a read or a write.
constexpr size_t turns = 2 * ports;
#else
constexpr size_t turns = ports;
#endif

struct Burst {
  uint64_t address;
  unsigned beats;
  bool bad = false;  // the memory answers with an error
  unsigned done = 0;
};

struct Master {
  std::deque<Burst> writes, data, unanswered, reads, unread;
  std::vector<uint8_t> golden = std::vector<uint8_t>(part);
  std::vector<bool> unsure = std::vector<bool>(part);  // what an error has left
  tb::Stalls aw, b, ar, r;
  bool aw_offered = false, w_offered = false, ar_offered = false;
  unsigned others = 0, read_others = 0;  // bursts of others that went first
  uint64_t answered = 0, errors = 0, last_answer = 0;
  std::array<uint8_t, 64> beat{};
  uint64_t strobes = 0;
};

template <class Port>
uint8_t* at(Port& port, size_t byte) {
  return reinterpret_cast<uint8_t*>(&port) + byte;
}

struct Share {
  tb::Bench bench;
  tb::Bytes memory;
  tb::AxiWriteMemory write_memory;
  tb::AxiReadMemory read_memory;
  std::vector<tb::Source> no_sources;
  std::vector<tb::Sink> no_sinks;
  std::vector<Master> masters;
  unsigned error_percent = 0;

  Share(const tb::Options& options, tb::AxiBehaviour behaviour, unsigned stalls)
      : bench(options), write_memory(AXI_WRITE_PORT(*bench.dut, m_axi), bytes, memory, behaviour),
        read_memory(AXI_READ_PORT(*bench.dut, m_axi), bytes, memory, behaviour) {
    for (size_t i = 0; i < ports; i++) {
      masters.push_back({{}, {}, {}, {}, {}, std::vector<uint8_t>(part), std::vector<bool>(part),
                         {stalls, 40}, {stalls, 4}, {stalls, 40}, {stalls, 4}});
      for (uint64_t a = 0; a < part; a++) masters[i].golden[a] = tb::Bytes::untouched(i * part + a);
    }
    write_memory.respond = [this](const tb::AxiBurst& burst) {
      // The master knows nothing of it until it is answered.
      Master& master = masters[burst.address / part];
      const bool bad = bench.random.percent(error_percent);
      for (Burst& own : master.unanswered)
        if (own.address == burst.address && own.done == 0) {
          own.done = 1;
          own.bad = bad;
          return uint8_t(bad ? 2 : 0);
        }
      tb::fail("an address that no master has sent: %llx", (unsigned long long)burst.address);
    };
    auto& dut = *bench.dut;
    std::memset(&dut.s_axi_awvalid, 0, sizeof dut.s_axi_awvalid);
    std::memset(&dut.s_axi_wvalid, 0, sizeof dut.s_axi_wvalid);
    std::memset(&dut.s_axi_arvalid, 0, sizeof dut.s_axi_arvalid);
    std::memset(&dut.s_axi_bready, 0, sizeof dut.s_axi_bready);
    std::memset(&dut.s_axi_rready, 0, sizeof dut.s_axi_rready);
    tb::reset(bench, no_sources, no_sinks);
#ifdef P_ENTRIES
    // Behind all masters' parts: the root, a table below it, and one per 2 MiB.
    const uint64_t root = 1ull << 30;
    const auto store = [&](uint64_t address, uint64_t word) {
      for (int i = 0; i < 8; i++) memory.set(address + i, uint8_t(word >> 8 * i));
    };
    store(root, (root + 4096) | 1);
    for (uint64_t i = 0; i * 512 < ports * part >> 12; i++)
      store(root + 4096 + 8 * i, (root + (i + 2) * 4096) | 1);
    for (uint64_t page = 0; page < ports * part >> 12; page++)
      store(root + 2 * 4096 + 8 * page, page << 12 | 3);
    dut.table_write = 1;
    dut.table_valid = 1;
    dut.table_root = root >> 12;
    tb::step(bench, no_sources, no_sinks, [] {});
    dut.table_write = 0;
#endif
  }
  Burst burst_at(size_t master, uint64_t offset, unsigned beats) {
    return {master * part + offset, beats};
  }
  void drive(size_t i) {
    auto& dut = *bench.dut;
    auto& random = bench.random;
    Master& m = masters[i];
    if (!m.aw_offered && !m.writes.empty() && !m.aw.pause(random)) {
      m.aw_offered = true;
      m.data.push_back(m.writes.front());
    }
    tb::Bit(dut.s_axi_awvalid, i).set(m.aw_offered);
    const Burst aw = m.aw_offered ? m.writes.front() : burst_at(i, random.next() % part, 9);
    std::memcpy(at(dut.s_axi_awaddr, i * address_bytes), &aw.address, address_bytes);
    *at(dut.s_axi_awlen, i) = uint8_t(aw.beats - 1);
    // Data as soon as its address is on offer, never before, and then without a pause.
    if (!m.w_offered && !m.data.empty()) {
      m.w_offered = true;
      for (auto& byte : m.beat) byte = uint8_t(random.next());
      m.strobes = random.percent(50) ? ~0ull : random.next();
    }
    tb::Bit(dut.s_axi_wvalid, i).set(m.w_offered);
    std::memcpy(at(dut.s_axi_wdata, i * bytes), m.beat.data(), bytes);
    std::memcpy(at(dut.s_axi_wstrb, i * bytes / 8), &m.strobes, bytes / 8);
    tb::Bit(dut.s_axi_wlast, i).set(m.w_offered && m.data.front().done + 1 == m.data.front().beats);
    tb::Bit(dut.s_axi_bready, i).set(!m.b.pause(random));
    if (!m.ar_offered && !m.reads.empty() && !m.ar.pause(random)) m.ar_offered = true;
    tb::Bit(dut.s_axi_arvalid, i).set(m.ar_offered);
    const Burst ar = m.ar_offered ? m.reads.front() : burst_at(i, random.next() % part, 3);
    std::memcpy(at(dut.s_axi_araddr, i * address_bytes), &ar.address, address_bytes);
    *at(dut.s_axi_arlen, i) = uint8_t(ar.beats - 1);
    tb::Bit(dut.s_axi_rready, i).set(!m.r.pause(random));
  }
  void sample(size_t i) {
    auto& dut = *bench.dut;
    Master& m = masters[i];
    if (m.aw_offered && tb::Bit(dut.s_axi_awready, i).get()) {
      m.aw_offered = false;
      m.unanswered.push_back(m.writes.front());
      m.writes.pop_front();
    }
    if (m.w_offered && tb::Bit(dut.s_axi_wready, i).get()) {
      m.w_offered = false;
      Burst& burst = m.data.front();
      const uint64_t base = burst.address - i * part + burst.done * bytes;
      for (size_t byte = 0; byte < bytes; byte++)
        if (m.strobes >> byte & 1) m.golden[base + byte] = m.beat[byte];
      burst.done += 1;
      if (burst.done == burst.beats) m.data.pop_front();
    } else if (!m.w_offered && tb::Bit(dut.s_axi_wready, i).get() && !m.data.empty()
               && m.data.front().done > 0) {
      tb::fail("master %zu paused inside a burst", i);
    }
    if (tb::Bit(dut.s_axi_bvalid, i).get() && tb::Bit(dut.s_axi_bready, i).get()) {
      if (m.unanswered.empty()) tb::fail("master %zu: an answer too many", i);
      const Burst burst = m.unanswered.front();
      m.unanswered.pop_front();
      if ((dut.s_axi_bresp >= 2) != burst.bad) tb::fail("master %zu: another's response", i);
      m.errors += burst.bad;
      m.answered += 1;
      m.last_answer = bench.cycle;
      const uint64_t begin = burst.address - i * part;
      if (burst.bad) std::fill_n(m.unsure.begin() + begin, burst.beats * bytes, true);
    }
    if (m.ar_offered && tb::Bit(dut.s_axi_arready, i).get()) {
      m.ar_offered = false;
      m.unread.push_back(m.reads.front());
      m.reads.pop_front();
    }
    if (tb::Bit(dut.s_axi_rvalid, i).get() && tb::Bit(dut.s_axi_rready, i).get()) {
      if (m.unread.empty()) tb::fail("master %zu: a beat too many", i);
      Burst& burst = m.unread.front();
      uint8_t wanted[bytes];
      for (size_t byte = 0; byte < bytes; byte++)
        wanted[byte] = tb::Bytes::untouched(burst.address + burst.done * bytes + byte);
      if (std::memcmp(wanted, at(dut.s_axi_rdata, 0), bytes) != 0)
        tb::fail("master %zu: beat %u of the burst from %llx is another's", i, burst.done,
                 (unsigned long long)burst.address);
      burst.done += 1;
      if (bool(dut.s_axi_rlast) != (burst.done == burst.beats)) tb::fail("master %zu: rlast", i);
      if (burst.done == burst.beats) m.unread.pop_front();
    }
  }
  // A master that could go on waits for one burst of each of the others at most.
  void look_at_turns() {
    auto& dut = *bench.dut;
    bool granted = false, read_granted = false;
    for (size_t i = 0; i < ports; i++) {
      granted |= masters[i].aw_offered && tb::Bit(dut.s_axi_awready, i).get();
      read_granted |= masters[i].ar_offered && tb::Bit(dut.s_axi_arready, i).get();
    }
    for (size_t i = 0; i < ports; i++) {
      Master& m = masters[i];
      const bool waits = m.aw_offered && !tb::Bit(dut.s_axi_awready, i).get();
      m.others = waits ? m.others + granted : 0;
      const bool read_waits = m.ar_offered && !tb::Bit(dut.s_axi_arready, i).get();
      m.read_others = read_waits ? m.read_others + read_granted : 0;
      if (m.others >= turns || m.read_others >= turns) tb::fail("master %zu: passed over", i);
    }
  }
  void step() {
    write_memory.drive(bench.random, bench.cycle);
    read_memory.drive(bench.random, bench.cycle);
    for (size_t i = 0; i < ports; i++) drive(i);
    tb::step(bench, no_sources, no_sinks, [&] {
      look_at_turns();
      // The share's port may show data before its address: the masters note a burst first.
      for (size_t i = 0; i < ports; i++) sample(i);
      write_memory.sample(bench.random, bench.cycle);
      read_memory.sample(bench.random, bench.cycle);
    });
  }
  // Bursts that are not done.
  size_t open() const {
    const auto add = [](size_t sum, const Master& m) {
      return sum + m.writes.size() + m.unanswered.size() + m.reads.size() + m.unread.size();
    };
    return std::accumulate(masters.begin(), masters.end(), size_t{0}, add);
  }
  // Until everything is answered, then the memory is compared. However many wait: one after the other
  // has its turn.
  void finish() {
    constexpr uint64_t patience = 100000;
    uint64_t bound = bench.cycle + patience;
    for (size_t left = open(); left > 0;) {
      if (bench.cycle >= bound) tb::fail("a burst is never answered");
      step();
      if (open() < left) bound = bench.cycle + patience;
      left = open();
    }
    for (size_t i = 0; i < ports; i++)
      for (uint64_t a = 0; a < part; a++)
        if (!masters[i].unsure[a] && memory.get(i * part + a) != masters[i].golden[a])
          tb::fail("master %zu: byte %llx is not what it wrote", i, (unsigned long long)a);
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  {
    // Everybody writes and reads bursts of 16 beats at the same time.
    Share share(options, {40, 40, 0, 1}, 0);
    for (size_t i = 0; i < ports; i++)
      for (unsigned n = 0; n < 40; n++) {
        share.masters[i].writes.push_back(share.burst_at(i, n * 16 * bytes, 16));
        share.masters[i].reads.push_back(share.burst_at(i, part / 2 + n * 16 * bytes, 16));
      }
    share.finish();
    tb::report("beats", ports * 40 * 16);
    tb::report("write_cycles", share.write_memory.last_beat - share.write_memory.first_beat + 1);
    tb::report("read_cycles", share.read_memory.last_beat - share.read_memory.first_beat + 1);
    // Nobody was served at another's expense.
    uint64_t first = ~0ull, last = 0;
    for (const Master& m : share.masters) {
      first = std::min(first, m.last_answer);
      last = std::max(last, m.last_answer);
    }
    tb::report("apart", last - first);
  }
  Share share(options, {1, 120, 5, 30}, 5);
  share.error_percent = 5;
  const uint64_t many = options.number("bursts", 150);
  for (size_t i = 0; i < ports; i++) {
    uint64_t to = 0, from = part / 2;
    for (uint64_t n = 0; n < many; n++) {
      auto& random = share.bench.random;
      const auto next = [&](uint64_t& place) {
        const uint64_t to_page_end = (4096 - place % 4096) / bytes;
        const uint64_t longest = std::min<uint64_t>(to_page_end, 64);
        const unsigned beats = unsigned(random.percent(30) ? 1 : random.between(1, longest));
        const Burst burst = share.burst_at(i, place, beats);
        place = (place + beats * bytes) % (part / 2) + (place >= part / 2 ? part / 2 : 0);
        return burst;
      };
      share.masters[i].writes.push_back(next(to));
      share.masters[i].reads.push_back(next(from));
    }
  }
  share.finish();
  uint64_t errors = 0, answered = 0;
  for (const Master& m : share.masters) errors += m.errors, answered += m.answered;
  tb::report("errors", errors);
  tb::report("answered", answered);
}
