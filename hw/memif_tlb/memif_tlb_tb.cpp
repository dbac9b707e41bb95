// Testbench of memif_tlb: an engine with random bursts on one side, a memory on the other, and the
// memory with the page tables. The reference model keeps the host's own list of pages, from which
// the tables are written; it never reads them.
#include "axi_engine.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr uint64_t pages = 128;  // of memory
constexpr unsigned levels = P_LEVELS;
constexpr unsigned known = 9 * levels < P_ADDRESS_WIDTH - 12 ? 9 * levels : P_ADDRESS_WIDTH - 12;
constexpr uint64_t space = 1ull << (P_ADDRESS_WIDTH - 12);  // pages that an address can name
// The first page that the table does not reach; there is none where it reaches them all.
constexpr uint64_t outside = 1ull << known;

struct Entry {
  uint64_t page = 0;
  bool readable = false, writable = false;
};

struct Tlb : tb::AxiEngine {
  tb::Bytes tables;
  tb::AxiReadMemory walks;
  std::map<uint64_t, Entry> entries;  // what the host has put into its tables
  std::map<uint64_t, Entry> current;  // and what of it holds
  std::map<uint64_t, uint64_t> places;  // of the tables, by level and the pages below them
  std::map<uint64_t, Entry> entries_before;
  std::map<uint64_t, uint64_t> places_before;
  std::map<uint64_t, bool> unreadable;  // addresses of lines
  uint64_t next_table = 1000;
  bool on = false;

  Tlb(const tb::Options& options, tb::AxiBehaviour behaviour)
      : AxiEngine(options, behaviour, bytes, pages),
        walks(AXI_READ_PORT(*bench.dut, t_axi), 8, tables, behaviour) {
    // One beat of a line cannot be read: its first, as the memory has it.
    walks.respond = [this](const tb::AxiBurst& burst) {
      return uint8_t(unreadable.count(burst.address) ? 2 : bench.random.next() & 1);
    };
    bench.dut->table_write = 0;
    reset();
  }
  void drive() override { walks.drive(bench.random, bench.cycle); }
  void sample() override { walks.sample(bench.random, bench.cycle); }

  int64_t translate(uint64_t page, bool write) const override {
    const auto found = current.find(page);
    if (!on || page >= outside || found == current.end()) return -1;
    const Entry& entry = found->second;
    const bool right = write ? entry.writable : entry.readable;
    return right && entry.page < pages ? int64_t(entry.page) : -1;
  }
  void store(uint64_t address, uint64_t word) {
    for (int i = 0; i < 8; i++) tables.set(address + i, uint8_t(word >> 8 * i));
  }
  // The table of a level that a page's entry is in; made, with all tables above, if need be.
  uint64_t table(unsigned level, uint64_t page) {
    const uint64_t key = (uint64_t(level) << 56) | page >> (9 * (level + 1));
    const auto found = places.find(key);
    if (found != places.end()) return found->second;
    const uint64_t place = next_table++ << 12;
    places[key] = place;
    for (int i = 0; i < 512; i++) store(place + 8 * i, 0);
    if (level + 1 < levels)
      store(table(level + 1, page) + 8 * (page >> (9 * (level + 1)) & 511),
            place | (bench.random.next() & 0xffe) | 1);
    return place;
  }
  void map(uint64_t page, const Entry& entry) {
    const uint64_t place = table(0, page) + 8 * (page & 511);
    store(place, entry.page << 12 | (bench.random.next() & 0xffc) | entry.writable << 1
                     | entry.readable);
    entries[page] = entry;
  }
  // The first entry of this line cannot be read from now on, and gives no right.
  void spoil(uint64_t page) { unreadable[table(0, page) + 8 * (page & 511)] = true; }
  void respect_spoilt() {
    for (auto& [page, entry] : entries)
      if (page % 8 == 0 && unreadable.count(table(0, page) + 8 * (page & 511)))
        entry.readable = entry.writable = false;
  }
  // All tables anew, elsewhere.
  void forget() {
    entries_before = std::move(entries);
    places_before = std::move(places);
    entries.clear();
    places.clear();
  }
  // The tables before the latest forget() hold again.
  void turn_back() {
    std::swap(entries, entries_before);
    std::swap(places, places_before);
    write_table(true);
  }
  void write_table(bool valid) {
    auto& dut = *bench.dut;
    dut.table_write = 1;
    dut.table_valid = valid;
    dut.table_root = table(levels - 1, 0) >> 12;
    step();
    on = valid;
    current = entries;
    dut.table_write = 0;
    dut.table_root = bench.random.next();
  }
};

// Linear data through five lines in bursts of 4 beats, in these directions at once: no gap, and each
// line is fetched once.
void linear(const tb::Options& options, bool writes, bool reads, const char* name) {
  Tlb tlb(options, {40, 40, 0, 1});
  const uint64_t many = 40;
  for (uint64_t page = 0; page < many; page++) tlb.map(page + 500, {page * 37 % pages, true, true});
  tlb.write_table(true);
  for (uint64_t i = 0; i < many * 4096 / (4 * bytes); i++) {
    if (writes) tlb.write((500 << 12) + i * 4 * bytes, 4);
    if (reads) tlb.read((500 << 12) + i * 4 * bytes, 4);
  }
  tlb.finish();
  const auto report = [&](const char* what, uint64_t value) {
    tb::report((std::string(name) + what).c_str(), value);
  };
  report("_read_gaps", reads ? tlb.last_beat - tlb.first_beat + 1 - tlb.read_beats : 0);
  report("_write_gaps",
         writes ? tlb.writes.last_beat - tlb.writes.first_beat + 1 - tlb.writes.beats : 0);
  report("_walks", tlb.bench.dut->count_walks);
}

int main(int count, char** words) {
  const tb::Options options(count, words);
  linear(options, true, true, "both");
  linear(options, true, false, "write");
  linear(options, false, true, "read");
  Tlb tlb(options, {1, 60, 8, 20});
  auto& random = tlb.bench.random;
  const uint64_t rounds = options.number("rounds", 60);
  for (uint64_t round = 0; round < rounds; round++) {
    // Neighbours, on both sides of where a table of each level ends, and beyond all of them; an
    // address that goes on past the last page begins anew.
    const std::array<uint64_t, 4> around{0, 512, 512 * 512 % outside, outside};
    const auto any = [&] {
      const uint64_t middle = around[random.between(0, 3)];
      return (middle + random.between(0, 40) - std::min<uint64_t>(middle, 20)) % space;
    };
    // While bursts are under way tables are not changed, but others can be put in their place.
    if (tlb.busy() || random.percent(30)) tlb.forget();
    for (int i = 0; i < 150; i++) {
      const uint64_t page = any();
      if (page >= outside) continue;
      // Some lead out of the address space.
      tlb.map(page, {random.between(0, pages - 1) + space * random.percent(3), random.percent(80),
                     random.percent(80)});
      if (random.percent(3)) tlb.spoil(page & ~7ull);
    }
    tlb.respect_spoilt();
    tlb.write_table(!random.percent(5));
    for (int i = 0; i < 40; i++) {
      const uint64_t page = any();
      const uint64_t end = 4096 / bytes;
      const unsigned beats = random.between(1, 16);
      const uint64_t from = random.percent(20) ? end - beats + random.between(0, 1)
                                               : random.between(0, end - beats);
      // A burst that crosses the page is one that no engine of the library makes.
      const uint64_t address = (page << 12) + std::min(from, end - 1) * bytes;
      if (random.percent(50)) tlb.write(address, beats);
      else tlb.read(address, beats);
    }
    if (random.percent(50)) {
      tlb.finish();
      continue;
    }
    // To and fro between these tables and those before, at any moment.
    for (int flips = 0; flips < 20; flips++) {
      for (uint64_t i = random.between(0, 150); i > 0; i--) tlb.step();
      tlb.turn_back();
    }
  }
  tlb.finish();
  tb::report("refused", tlb.refused);
  tb::report("passed", tlb.passed);
}
