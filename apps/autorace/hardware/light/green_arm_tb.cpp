// Testbench of green_arm: images of chance in phases, in which green, red or neither is seen for
// some images or for many; whether a lamp counts, in each image against the rules of
// apps/autorace/src/hand_over.rs, and looks between images, which change nothing; resets in mid-run.
#include "axis.hpp"

namespace {

// The rules, as they are told: nothing here is shared with the module.
struct Rules {
  bool is_armed = true, was_green = false;
  uint64_t images_without = 0;

  bool lit(bool found, bool red_before) const { return found && (is_armed || red_before); }
  void end(bool found, bool red_before) {
    const bool counts = lit(found, red_before);
    if (red_before) {
      is_armed = true;
      images_without = 0;
    }
    if (counts) {
      was_green = true;
      images_without = 0;
      return;
    }
    images_without += 1;
    if (was_green && images_without >= 5) is_armed = was_green = false;
    if (images_without >= 30) is_armed = true;
  }
};

}  // namespace

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  Rules rules;
  uint64_t ignored = 0, again = 0;
  unsigned green = 0, red = 0, images = 0;   // percent, and images left of the phase
  const auto restart = [&] {
    dut.next = dut.found = dut.red_before = 0;
    tb::reset(bench, nobody, nothing);
    rules = {};
  };
  restart();
  for (uint64_t left = options.number("images", 20000); left > 0; left--) {
    if (random.percent(1)) restart();
    if (images == 0) {
      constexpr unsigned shares[] = {0, 0, 60, 100};
      constexpr unsigned longest[] = {3, 8, 40};
      green = shares[random.between(0, 3)];
      red = random.percent(20) ? 50 : 0;
      images = unsigned(random.between(1, longest[random.between(0, 2)]));
    }
    images -= 1;
    const bool found = random.percent(green), red_before = random.percent(red);
    // A lamp that is looked at and not there when the image ends.
    for (uint64_t looks = random.between(0, 2); looks > 0; looks--) {
      dut.next = 0;
      dut.found = random.percent(50);
      dut.red_before = random.percent(50);
      tb::step(bench, nobody, nothing, [&] {
        if (bool(dut.lit) != rules.lit(dut.found, dut.red_before)) tb::fail("lit between images");
      });
    }
    dut.next = 1;
    dut.found = found;
    dut.red_before = red_before;
    tb::step(bench, nobody, nothing, [&] {
      const bool expected = rules.lit(found, red_before);
      if (bool(dut.lit) != expected) tb::fail("lit %d, not %d", int(dut.lit), int(expected));
      ignored += found && !expected;
    });
    const bool was_armed = rules.is_armed;
    rules.end(found, red_before);
    again += !was_armed && rules.is_armed && !red_before;
  }
  tb::report("ignored", ignored);
  tb::report("again", again);
  return 0;
}
