// Testbench of a board's registers: a host with random stalls on all five channels, which reads and
// writes at the same time. What a write does is noted when the bridge takes it, so a read that is
// taken later has to see it. The registers of the host_port are a model with its latency.
#include "axis.hpp"

#include <map>
#include <set>

constexpr size_t statuses = P_STATUS;
constexpr size_t controls = P_CONTROL;
constexpr uint64_t all = ~0ull;

struct Access {
  uint64_t address = 0, data = 0;
  uint8_t strobes = 0xff;
};

struct Registers {
  tb::Bench bench;
  uint64_t until_other = 0, other_period;
  uint64_t status[statuses] = {};
  uint64_t others;  // status words of the other clock
  uint64_t keeps[controls], other_keeps[controls], resets[controls], control[controls];
  std::map<unsigned, uint64_t> port;
  // The host.
  std::deque<Access> writes, reads;
  bool aw = false, w = false, ar = false, aw_taken = false, w_taken = false;
  tb::Stalls aw_stalls, w_stalls, b_stalls, ar_stalls, r_stalls;
  int wanted_write = -1;                 // response that is due
  int wanted_read = -1;
  std::set<uint64_t> values;             // any of them may be read
  int status_read = -1;                  // the status word under way
  bool b_waited = false, r_waited = false;
  uint64_t b_shown = 0, r_shown[2] = {};
  uint64_t port_writes = 0, port_wanted = 0;
  uint64_t done = 0, refused = 0, latest = 0, taken_at = 0, longest_port = 0, longest_word = 0;
  bool is_port = false;

  Registers(const tb::Options& options, uint64_t period, unsigned stalls)
      : bench(options), other_period(period), aw_stalls(stalls, 12), w_stalls(stalls, 12),
        b_stalls(stalls, 12), ar_stalls(stalls, 12), r_stalls(stalls, 12) {
    auto& random = bench.random;
    auto& dut = *bench.dut;
    others = 0;
    for (size_t i = 0; i < statuses; i++) others |= uint64_t(random.percent(40)) << i;
    for (size_t i = 0; i < controls; i++) {
      const uint64_t bits = random.percent(30) ? all : random.next();
      const bool other = random.percent(40);
      keeps[i] = other ? 0 : bits;
      other_keeps[i] = other ? bits : 0;
      resets[i] = random.next();
      control[i] = resets[i] & bits;
    }
    std::memcpy(&dut.others, &others, sizeof dut.others);
    std::memcpy(&dut.keeps, keeps, sizeof keeps);
    std::memcpy(&dut.other_keeps, other_keeps, sizeof keeps);
    std::memcpy(&dut.resets, resets, sizeof keeps);
    std::memcpy(&dut.status, status, sizeof status);
    dut.s_axil_awvalid = dut.s_axil_wvalid = dut.s_axil_arvalid = 0;
    dut.rst = dut.other_rst = 1;
    for (int i = 0; i < 40; i++) edge([] {});
    dut.rst = dut.other_rst = 0;
  }
  // One cycle of `clk`, with the edges of the other clock that come before its end.
  template <class Look>
  void edge(Look look) {
    auto& dut = *bench.dut;
    dut.clk = 0;
    bench.settle();
    bench.record();
    look();
    const bool write = dut.register_write;
    const unsigned address = dut.register_address;
    const uint64_t data = dut.register_write_data;
    dut.clk = 1;
    bench.settle();
    if (write) {
      port[address] = data;
      port_writes += 1;
    }
    dut.register_read_data = port.count(address) ? port[address] : address * 0x10001ull;
    bench.settle();
    bench.record();
    for (until_other += 100; until_other >= other_period; until_other -= other_period) {
      dut.other_clk = 1;
      bench.settle();
      bench.record();
      dut.other_clk = 0;
      bench.settle();
    }
    bench.cycle += 1;
  }
  uint64_t held(size_t i) const { return control[i]; }
  bool good(const Access& it, bool write) const {
    const uint64_t word = it.address >> 3;
    const bool in_port = word >= 0x2000 && word < 0x3000;
    const bool in_control = word >= 0x1000 && word < 0x1000 + controls;
    if (write) return it.strobes == 0xff && (in_port || in_control);
    return in_port || in_control || word < statuses;
  }
  void took_write() {
    const Access& it = writes.front();
    const bool is_good = good(it, true);
    wanted_write = is_good ? 0 : 2;
    if (is_good && it.address >= 0x10000) port_wanted += 1;
    if (is_good && it.address < 0x10000) {
      const size_t i = (it.address - 0x8000) / 8;
      control[i] = it.data & (keeps[i] | other_keeps[i]);
    }
    started(it);
    writes.pop_front();
  }
  void took_read() {
    const Access& it = reads.front();
    wanted_read = good(it, false) ? 0 : 2;
    values.clear();
    const uint64_t word = it.address >> 3;
    if (wanted_read != 0) values.insert(0);
    else if (word >= 0x2000) {
      const unsigned number = word - 0x2000;
      values.insert(port.count(number) ? port[number] : number * 0x10001ull);
    } else if (word >= 0x1000) values.insert(control[word - 0x1000]);
    else {
      status_read = int(word);
      values.insert(status[word]);
    }
    started(it);
    reads.pop_front();
  }
  void started(const Access& it) {
    taken_at = bench.cycle;
    is_port = it.address >= 0x10000;
  }
  void answered(bool stalled) {
    done += 1;
    latest = 0;
    if (stalled) return;
    auto& longest = is_port ? longest_port : longest_word;
    longest = std::max(longest, bench.cycle - taken_at);
  }
  void step() {
    auto& dut = *bench.dut;
    auto& random = bench.random;
    if (random.percent(5)) {
      const size_t i = random.between(0, statuses - 1);
      status[i] = random.next();
      std::memcpy(&dut.status, status, sizeof status);
      if (status_read == int(i)) values.insert(status[i]);
    }
    if (!aw && !aw_taken && !writes.empty() && !aw_stalls.pause(random)) aw = true;
    if (!w && !w_taken && !writes.empty() && !w_stalls.pause(random)) w = true;
    if (!ar && !reads.empty() && !ar_stalls.pause(random)) ar = true;
    dut.s_axil_awvalid = aw;
    dut.s_axil_awaddr = aw ? writes.front().address : random.next() & 0x1ffff;
    dut.s_axil_wvalid = w;
    dut.s_axil_wdata = w ? writes.front().data : random.next();
    dut.s_axil_wstrb = w ? writes.front().strobes : uint8_t(random.next());
    dut.s_axil_arvalid = ar;
    dut.s_axil_araddr = ar ? reads.front().address : random.next() & 0x1ffff;
    dut.s_axil_bready = !b_stalls.pause(random);
    dut.s_axil_rready = !r_stalls.pause(random);
    edge([&] {
      if (dut.s_axil_bvalid) {
        if (wanted_write < 0) tb::fail("a write is answered that was not taken");
        if (dut.s_axil_bresp != wanted_write) tb::fail("a write has response %d, not %d",
                                                       dut.s_axil_bresp, wanted_write);
        if (port_writes != port_wanted) tb::fail("%llu writes reached the port, not %llu",
            (unsigned long long)port_writes, (unsigned long long)port_wanted);
        if (dut.s_axil_bready) {
          refused += wanted_write != 0;
          answered(b_waited);
          wanted_write = -1;
        }
      } else if (b_waited) tb::fail("the answer to a write was withdrawn");
      b_waited = dut.s_axil_bvalid && !dut.s_axil_bready;
      if (dut.s_axil_rvalid) {
        if (wanted_read < 0) tb::fail("a read is answered that was not taken");
        if (dut.s_axil_rresp != wanted_read) tb::fail("a read has response %d, not %d",
                                                      dut.s_axil_rresp, wanted_read);
        if (!values.count(dut.s_axil_rdata)) tb::fail("a read gives %llx",
                                                      (unsigned long long)dut.s_axil_rdata);
        if (r_waited && r_shown[0] != dut.s_axil_rdata) tb::fail("an answer changed");
        r_shown[0] = dut.s_axil_rdata;
        if (dut.s_axil_rready) {
          refused += wanted_read != 0;
          answered(r_waited);
          wanted_read = -1;
          status_read = -1;
        }
      } else if (r_waited) tb::fail("the answer to a read was withdrawn");
      r_waited = dut.s_axil_rvalid && !dut.s_axil_rready;
      const bool takes_aw = aw && dut.s_axil_awready, takes_w = w && dut.s_axil_wready;
      if (takes_aw != takes_w) tb::fail("address and data are not taken together");
      if (takes_aw) {
        took_write();
        aw = w = false;
      }
      if (ar && dut.s_axil_arready) {
        took_read();
        ar = false;
      }
    });
    latest = wanted_write >= 0 || wanted_read >= 0 || aw || ar ? latest + 1 : 0;
    if (latest > 2000) tb::fail("an access is not answered");
    // What the modules drive: whatever is not kept is 0.
    uint64_t own[controls], other[controls];
    std::memcpy(own, &dut.control, sizeof own);
    std::memcpy(other, &dut.other_control, sizeof other);
    for (size_t i = 0; i < controls; i++) {
      if ((own[i] & ~keeps[i]) || (other[i] & ~other_keeps[i])) tb::fail("a bit that is not kept");
      if (wanted_write < 0 && (own[i] | other[i]) != held(i))
        tb::fail("word %zu of control holds %llx, not %llx", i,
                 (unsigned long long)(own[i] | other[i]), (unsigned long long)held(i));
    }
  }
  Access access() {
    auto& random = bench.random;
    static const uint64_t odd[] = {8 * statuses, 0x7ff8,  0x8000 + 8 * controls,
                                   0xfff8,       0x18000, 0x1fff8};
    Access it;
    it.data = random.next();
    const unsigned kind = random.between(0, 9);
    if (kind < 3) it.address = 0x10000 + 8 * random.between(0, 7);
    else if (kind == 3) it.address = 0x10000 + 8 * random.between(4088, 4095);
    else if (kind < 6) it.address = 8 * random.between(0, statuses - 1);
    else if (kind < 9) it.address = 0x8000 + 8 * random.between(0, controls - 1);
    else it.address = odd[random.between(0, 5)];
    if (random.percent(10)) it.strobes = uint8_t(random.next());
    if (random.percent(20)) it.address += random.between(0, 7);  // a part of the word
    return it;
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  uint64_t done = 0, refused = 0, port = 0, word = 0;
  for (uint64_t period : {100, 37, 730})
    for (unsigned stalls : {0, 20}) {
      Registers registers(options, period, stalls);
      const uint64_t many = options.number("accesses", 2000);
      uint64_t made = 0;
      while (registers.done < many) {
        auto& random = registers.bench.random;
        const size_t waiting = registers.writes.size() + registers.reads.size();
        if (made < many && waiting < 4 && random.percent(30)) {
          (random.percent(50) ? registers.writes : registers.reads).push_back(registers.access());
          made += 1;
        }
        registers.step();
      }
      done += registers.done;
      refused += registers.refused;
      if (stalls == 0 && period == 100) {
        port = registers.longest_port;
        word = registers.longest_word;
      }
    }
  tb::report("accesses", done);
  tb::report("refused", refused);
  tb::report("port_cycles", port);
  tb::report("word_cycles", word);
}
