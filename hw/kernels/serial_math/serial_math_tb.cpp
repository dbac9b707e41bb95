// Testbench of serial_math: products, quotients and roots of numbers of all lengths, extreme ones
// among them, against the same in 128 bits; resets and starts in between.
#include "axis.hpp"

namespace {

using Wide = unsigned __int128;

constexpr unsigned width = P_WIDTH;

Wide mask(unsigned bits) { return bits == 128 ? ~Wide(0) : (Wide(1) << bits) - 1; }

// A number of at most so many bits: of chance, or with few or many ones.
Wide number(tb::Random& random, unsigned bits) {
  const unsigned of = unsigned(random.between(0, bits));
  Wide found = (Wide(random.next()) << 64 | random.next()) & mask(of);
  if (random.percent(10)) found = mask(of);
  if (random.percent(10)) found = of == 0 ? 0 : Wide(1) << (of - 1);
  return found;
}

template <class Port>
void set(Port& port, Wide value) {
  if constexpr (std::is_integral_v<Port>) port = Port(value);
  else
    for (unsigned i = 0; i < (width + 31) / 32; i++) port[i] = uint32_t(value >> (32 * i));
}

template <class Port>
Wide get(const Port& port) {
  if constexpr (std::is_integral_v<Port>) return port;
  else {
    Wide found = 0;
    for (unsigned i = 0; i < (width + 31) / 32; i++) found |= Wide(port[i]) << (32 * i);
    return found;
  }
}

}  // namespace

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  const uint64_t results = options.number("results", 6000);
  uint64_t longest = 0;
  dut.start = 0;
  tb::reset(bench, nobody, nothing);
  for (uint64_t i = 0; i < results; i++) {
    const unsigned what = unsigned(random.between(0, 2));
    // A quotient has a bit less to be made of.
    const Wide a = number(random, what == 1 ? width - 1 : width);
    Wide b = number(random, width);
    if (what == 1 && b == 0) b = 1;
    if (random.percent(2)) {
      // Something is under way, and a reset takes it.
      dut.start = 1;
      tb::step(bench, nobody, nothing);
      dut.start = 0;
      for (unsigned j = unsigned(random.between(0, 60)); j > 0; j--)
        tb::step(bench, nobody, nothing);
      tb::reset(bench, nobody, nothing);
    }
    set(dut.a, a);
    set(dut.b, b);
    dut.what = uint8_t(what);
    dut.start = 1;
    tb::step(bench, nobody, nothing);
    dut.start = 0;
    // What comes later does not matter.
    set(dut.a, number(random, width));
    set(dut.b, number(random, width));
    uint64_t cycles = 1;
    while (!dut.done) {
      dut.start = random.percent(5);
      dut.what = uint8_t(random.between(0, 2));
      tb::step(bench, nobody, nothing);
      dut.start = 0;
      bench.settle();
      if (++cycles > 1000) tb::fail("it does not end");
    }
    longest = std::max(longest, cycles);
    const Wide found = get(dut.result);
    bool right = false;
    if (what == 0) right = found == (a * b & mask(width));
    // The distance without twice the number, which may not fit.
    if (what == 1) right = a / b + (a % b >= b - a % b ? 1 : 0) == found;
    if (what == 2) {
      const unsigned half = width / 2;
      right = found <= mask(half) && found * found <= a &&
              (found == mask(half) || (found + 1) * (found + 1) > a);
    }
    if (!right) tb::fail("result %llu of kind %u is wrong", (unsigned long long)i, what);
    for (unsigned j = unsigned(random.between(0, 3)); j > 0; j--) {
      tb::step(bench, nobody, nothing);
      if (dut.done || get(dut.result) != found) tb::fail("a result does not stand");
    }
  }
  tb::report("longest", longest);
}
