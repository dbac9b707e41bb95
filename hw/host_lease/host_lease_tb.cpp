// Testbench of host_lease: a host that renews, gives back, forgets its lease and restarts, a memory that
// comes to rest some time after it was told to stop, and clocks that follow their reset late. The
// reference model counts the lease by itself and knows a restart as three steps.
#include "axis.hpp"

constexpr uint64_t endless = (1ull << 48) - 1;
constexpr uint64_t all_clocks = (1ull << P_CLOCKS) - 1;

struct Lease {
  tb::Bench bench;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  uint64_t left = endless, restarts = 0, ran_out = 0;  // as the host should see them
  unsigned step = 0, held = 0;                         // of a restart: 0 none, 1 stops, 2 resets, 3 ends
  unsigned until_rest = 0;
  uint64_t others = 0;
  bool stopped = false;
  uint64_t wanted = 0;  // what is read next
  bool reads = false;

  explicit Lease(const tb::Options& options) : bench(options) {
    auto& dut = *bench.dut;
    dut.register_write = dut.stopped = 0;
    dut.others = 0;
    dut.register_address = 0;
    tb::reset(bench, nobody, nothing);
  }
  bool stops() const { return step != 0 || left == 0; }
  void cycle() {
    auto& dut = *bench.dut;
    auto& random = bench.random;
    static const unsigned numbers[] = {0xd00, 0xd01, 0xd01, 0xd01, 0xd02, 0xd03, 0xd0f, 0xcff, 0xd10, 0x500};
    dut.register_address = numbers[random.between(0, 9)];
    dut.register_write = random.percent(3);
    dut.register_write_data = random.percent(10) ? 0 : random.next() << 48 | random.between(1, 90);
    if (random.percent(5)) dut.register_write_data = ~0ull;
    dut.port_read_data = random.next();
    dut.stopped = stopped;
    dut.others = others;
    tb::step(bench, nobody, nothing, [&] { look(); });
    follow();
  }
  // Before the edge: the outputs are the model's.
  void look() {
    auto& dut = *bench.dut;
    if (dut.stop != stops()) tb::fail("stop is %d", int(dut.stop));
    if (dut.busy != (step != 0) || dut.restart != (step >= 2) || dut.restart_others != (step == 2))
      tb::fail("busy %d, restart %d and %d in step %u", int(dut.busy), int(dut.restart),
               int(dut.restart_others), step);
    if (dut.register_read_data != (reads ? wanted : dut.port_read_data))
      tb::fail("%llx is read instead of %llx", (unsigned long long)dut.register_read_data,
               (unsigned long long)(reads ? wanted : dut.port_read_data));
  }
  // What the edge makes of it.
  void follow() {
    auto& dut = *bench.dut;
    auto& random = bench.random;
    reads = dut.register_address >> 4 == 0xd0;
    const unsigned number = dut.register_address & 15;
    wanted = number == 0 ? (stopped ? 2 : 0) + (step != 0) : number == 1 ? left
        : number == 2 ? ran_out << 16 | restarts : 0;
    const bool writes = dut.register_write && step == 0;
    const bool all = others == all_clocks, none = others == 0;
    if (step == 1 && stopped) step = 2, held = 0;
    else if (step == 2) {
      held = all ? held + 1 : 0;
      if (held == P_HOLD) step = 3;
    } else if (step == 3 && none) step = 0;
    if (writes && dut.register_address == 0xd00) {
      step = 1;
      left = endless;
      restarts += 1;
    } else if (writes && dut.register_address == 0xd01) {
      left = dut.register_write_data & endless;
    } else if (left != 0 && left != endless) {
      left -= 1;
      ran_out += left == 0;
    }
    // Memory rests some cycles after it was told to, until the stop ends.
    if (!stops()) stopped = false, until_rest = unsigned(random.between(0, 20));
    else if (until_rest > 0) until_rest -= 1;
    else stopped = true;
    for (unsigned i = 0; i < P_CLOCKS; i++)
      if (random.percent(30)) others = (others & ~(1ull << i)) | uint64_t(step == 2) << i;
  }
};

int main(int count, char** words) {
  const tb::Options options(count, words);
  Lease lease(options);
  const uint64_t cycles = options.number("cycles", 60000);
  for (uint64_t i = 0; i < cycles; i++) lease.cycle();
  tb::report("restarts", lease.restarts);
  tb::report("ran_out", lease.ran_out);
}
