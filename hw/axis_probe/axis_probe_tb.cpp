// Testbench of axis_probe: random traffic, snapshots and clears; the reference model counts in the
// terms of the contract.
#include "axis.hpp"

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  Vdut& dut = *bench.dut;
  constexpr uint64_t mask = P_COUNT_WIDTH == 64 ? ~0ull : (1ull << P_COUNT_WIDTH) - 1;
  uint64_t counts[8] = {}, frozen[8] = {};
  bool inside = false, offered = false;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  dut.s_axis_tvalid = dut.s_axis_tready = dut.s_axis_tlast = dut.s_axis_tuser = 0;
  dut.clear = dut.snapshot = dut.read_address = 0;
  tb::reset(bench, nobody, nothing);
  const uint64_t cycles = options.number("cycles", 200000);
  for (uint64_t i = 0; i < cycles; i++) {
    tb::Random& random = bench.random;
    if (!offered) {
      dut.s_axis_tvalid = random.percent(70);
      dut.s_axis_tlast = random.percent(15);
      dut.s_axis_tuser = dut.s_axis_tlast && random.percent(20);
    }
    dut.s_axis_tready = random.percent(60);
    dut.snapshot = random.percent(3);
    dut.clear = random.percent(1);
    const unsigned address = dut.read_address = random.between(0, 7);
    const uint64_t expected = frozen[address];
    if (dut.snapshot) std::copy(counts, counts + 6, frozen);
    if (dut.clear) std::fill(counts, counts + 6, 0);
    const bool taken = dut.s_axis_tvalid && dut.s_axis_tready;
    counts[0] += taken && dut.s_axis_tlast;
    counts[1] += taken;
    counts[2] += dut.s_axis_tvalid && !dut.s_axis_tready;
    counts[3] += !dut.s_axis_tvalid && inside;
    counts[4] += taken && dut.s_axis_tuser;
    counts[5] += 1;
    for (uint64_t& value : counts) value &= mask;
    if (taken) inside = !dut.s_axis_tlast;
    offered = dut.s_axis_tvalid && !taken;
    tb::step(bench, nobody, nothing);
    if (dut.read_data != expected)
      tb::fail("count %u reads %llu instead of %llu", address, (unsigned long long)dut.read_data,
               (unsigned long long)expected);
  }
}
