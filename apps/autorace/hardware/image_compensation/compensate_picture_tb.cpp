// Testbench of compensate_picture: random pictures of all shapes of histogram, random stalls on both
// sides, resets; the reference is the specification in apps/autorace/src/compensation.rs.
#include "axis.hpp"

#include <numeric>

namespace {

using Picture = std::vector<uint8_t>;

Picture compensated(const Picture& in) {
  const size_t pixels = in.size() / 3;
  std::array<uint64_t, 256> bins{};
  for (size_t i = 0; i < pixels; i++)
    bins[(77u * in[3 * i] + 150u * in[3 * i + 1] + 29u * in[3 * i + 2] + 128u) >> 8] += 1;
  const uint64_t cut = pixels * P_CLIP_PER_MYRIAD / 20000;
  int low = 0, high = 255;
  uint64_t count = 0;
  for (int v = 0; v < 256; v++)
    if ((count += bins[v]) > cut) {
      low = v;
      break;
    }
  count = 0;
  for (int v = 255; v >= 0; v--)
    if ((count += bins[v]) > cut) {
      high = v;
      break;
    }
  if (high < low + 16) low = 0, high = 255;
  Picture out;
  for (const int v : in) {
    const int range = high - low;
    out.push_back(uint8_t(v <= low ? 0 : v >= high ? 255 : ((v - low) * 255 + range / 2) / range));
  }
  return out;
}

// Full range, narrow, blank, two levels, a ramp; from one pixel to the largest picture.
Picture chance(tb::Random& random) {
  const size_t most = P_MAX_BYTES / 3;
  const size_t pixels = random.percent(30) ? random.between(1, 9)
      : random.percent(30) ? most : random.between(1, most);
  Picture picture(pixels * 3);
  const unsigned low = random.between(0, 255), high = random.between(low, 255);
  const unsigned kind = random.between(0, 3);
  for (size_t i = 0; i < pixels; i++)
    for (size_t c = 0; c < 3; c++)
      picture[3 * i + c] = kind == 0 ? uint8_t(random.between(low, high))
          : kind == 1 ? uint8_t(low)
          : kind == 2 ? uint8_t(random.percent(50) ? low : high)
                      : uint8_t(low + (high - low) * i / pixels);
  return picture;
}

}  // namespace

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  const uint64_t pictures = options.number("pictures", 200);
  const unsigned stalls = unsigned(options.number("stalls", 40));
  std::deque<Picture> expected;
  Picture coming, arrived;
  size_t sent = 0;
  uint64_t begun = 0, done = 0, cycle = 0, first_in = 0, first_out = 0, last_out = 0;
  uint64_t period = 0;
  const auto restart = [&] {
    dut.s_valid = dut.m_ready = 0;
    tb::reset(bench, nobody, nothing);
    expected.clear();
    coming.clear();
    arrived.clear();
    sent = 0;
    begun = done;
  };
  restart();
  while (done < pictures) {
    if (coming.empty() && begun < pictures) {
      coming = chance(random);
      if (stalls == 0) coming.resize(P_MAX_BYTES / 3 * 3, 7);
      sent = 0;
      begun += 1;
    }
    if (!coming.empty() && !dut.s_valid && !random.percent(stalls)) {
      const size_t bytes = std::min<size_t>(8, coming.size() - sent);
      uint64_t data = random.next();
      std::memcpy(&data, coming.data() + sent, bytes);
      dut.s_data = data;
      dut.s_bytes = uint8_t(bytes);
      dut.s_last = sent + bytes == coming.size();
      dut.s_valid = 1;
    }
    dut.m_ready = !random.percent(stalls);
    bench.settle();
    const bool in = dut.s_valid && dut.s_ready, out = dut.m_valid && dut.m_ready;
    if (out) {
      const uint64_t data = dut.m_data;
      const auto* bytes = reinterpret_cast<const uint8_t*>(&data);
      arrived.insert(arrived.end(), bytes, bytes + dut.m_bytes);
      if (first_out == 0) first_out = cycle;
      if (dut.m_last) {
        if (expected.empty()) tb::fail("a picture that nobody sent");
        if (arrived != compensated(expected.front()))
          tb::fail("picture %llu of %zu bytes differs", (unsigned long long)done,
                   expected.front().size());
        expected.pop_front();
        arrived.clear();
        done += 1;
        period = cycle - last_out;
        last_out = cycle;
      }
    }
    if (in) {
      if (first_in == 0) first_in = cycle;
      sent += dut.s_bytes;
      if (dut.s_last) {
        expected.push_back(coming);
        coming.clear();
      }
    }
    tb::step(bench, nobody, nothing);
    if (in) dut.s_valid = 0;
    cycle += 1;
    if (cycle > 100000000) tb::fail("it stands still after %llu pictures", (unsigned long long)done);
    if (stalls > 0 && random.between(0, 20000) == 0) restart();
  }
  // From one picture's last beat out to the next one's.
  std::printf("beats=%u\nlatency=%llu\nperiod=%llu\n", unsigned(P_MAX_BYTES / 3 * 3 + 7) / 8,
              (unsigned long long)(first_out - first_in), (unsigned long long)period);
}
