// Testbench of paper_memif with one master: random bursts on one side, a memory with page tables in it
// on the other. The reference model keeps the host's own list of pages, from which the tables are
// written; it never reads them. Several masters are for memif_share's testbench.
#include "axi_engine.hpp"

constexpr size_t bytes = P_WIDTH / 8;
constexpr uint64_t pages = 128;     // of memory
constexpr uint64_t tables = 1000;   // where tables begin, in pages: nobody else is there
constexpr unsigned levels = 3;
constexpr uint64_t outside = 1ull << 9 * levels;  // the first page that no table reaches

struct Entry {
  uint64_t page = 0;
  bool readable = false, writable = false;
};

struct Paper : tb::AxiEngine {
  std::map<uint64_t, Entry> entries;    // what the host has put into its tables
  std::map<uint64_t, uint64_t> places;  // of the tables, by level and the pages below them
  uint64_t next_table = tables;
  bool on = false;

  Paper(const tb::Options& options, tb::AxiBehaviour behaviour)
      : AxiEngine(options, behaviour, bytes, pages) {
    bench.dut->table_write = 0;
    reset();
  }
  void sample() override {
    const uint64_t open = writes.requested - writes.answered + reads.requested - reads.answered;
    if (open > 1) tb::fail("%llu bursts are open", (unsigned long long)open);
  }
  int64_t translate(uint64_t page, bool write) const override {
    const auto found = entries.find(page);
    if (!on || page >= outside || found == entries.end()) return -1;
    const Entry& entry = found->second;
    return entry.readable && (!write || entry.writable) && entry.page < pages
        ? int64_t(entry.page) : -1;
  }
  void store(uint64_t address, uint64_t word) {
    for (int i = 0; i < 8; i++) source.set(address + i, uint8_t(word >> 8 * i));
  }
  // The table of a level that a page's entry is in; made, with all tables above, if need be.
  uint64_t table(unsigned level, uint64_t page) {
    const uint64_t key = (uint64_t(level) << 56) | page >> (9 * (level + 1));
    const auto found = places.find(key);
    if (found != places.end()) return found->second;
    const uint64_t place = next_table++ << 12;
    places[key] = place;
    for (int i = 0; i < 512; i++) store(place + 8 * i, bench.random.next() & 0xffe);
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
  void forget() {
    entries.clear();
    places.clear();
  }
  void write_table(bool valid) {
    auto& dut = *bench.dut;
    dut.table_write = 1;
    dut.table_valid = valid;
    dut.table_root = table(levels - 1, 0) >> 12;
    step();
    on = valid;
    dut.table_write = 0;
    dut.table_root = bench.random.next();
  }
};

// Cycles, and translations read, of linear data in chunks of 256 bytes: so many pages, twice.
void linear(const tb::Options& options, uint64_t many, const char* name) {
  const unsigned beats = 256 / bytes;
  Paper paper(options, {10, 10, 0, 1});
  for (uint64_t page = 0; page < many; page++) paper.map(page + 500, {page * 37 % pages, true, true});
  paper.write_table(true);
  for (int turn = 0; turn < 2; turn++)
    for (uint64_t at = 0; at < many * 4096; at += 256) paper.read((500 << 12) + at, beats);
  paper.finish();
  tb::report((std::string(name) + "_cycles").c_str(), paper.last_beat - paper.first_beat + 1);
  tb::report((std::string(name) + "_walks").c_str(), paper.bench.dut->count_walks);
}

int main(int count, char** words) {
  const tb::Options options(count, words);
  linear(options, P_ENTRIES, "kept");
  linear(options, P_ENTRIES + 1, "lost");
  Paper paper(options, {1, 60, 8, 20});
  auto& random = paper.bench.random;
  const uint64_t rounds = options.number("rounds", 40);
  uint64_t refused = 0;  // before the last reset
  for (uint64_t round = 0; round < rounds; round++) {
    // Neighbours, on both sides of where a table of each level ends, and beyond all of them.
    const std::array<uint64_t, 4> around{0, 512, 512 * 512, outside};
    const auto any = [&] {
      const uint64_t middle = around[random.between(0, 3)];
      return middle + random.between(0, 40) - std::min<uint64_t>(middle, 20);
    };
    if (random.percent(30)) paper.forget();
    for (int i = 0; i < 150; i++) {
      // Some lead out of the address space.
      const uint64_t beyond = 1ull << (P_ADDRESS_WIDTH - 12);
      const uint64_t page = any();
      if (page >= outside) continue;
      paper.map(page, {random.between(0, pages - 1) + beyond * random.percent(3),
                       random.percent(80), random.percent(80)});
    }
    // Behind a reset there is no table, whatever there was before.
    if (random.percent(30)) {
      refused += paper.refused;
      paper.restart();
      paper.on = false;
    } else {
      paper.write_table(!random.percent(5));
    }
    for (int i = 0; i < 60; i++) {
      const unsigned beats = random.between(1, 16);
      const uint64_t from = random.between(0, 4096 / bytes - beats);
      const uint64_t address = (any() << 12) + from * bytes;
      if (random.percent(50)) paper.write(address, beats);
      else paper.read(address, beats);
    }
    paper.finish();
  }
  tb::report("refused", refused + paper.refused);
  tb::report("passed", paper.passed);
}
