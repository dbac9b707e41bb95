// Testbench of blur_picture: random pictures of all sizes that fit, random stalls on both sides,
// cuts, resets; the reference is the specification in apps/autorace/src/blur.rs.
#include "axis.hpp"

namespace {

struct Picture {
  size_t width, height;
  std::vector<uint8_t> bytes;
};

std::vector<uint8_t> blurred(const Picture& in) {
  constexpr int weights[5] = {1, 4, 6, 4, 1};
  std::vector<uint8_t> out;
  const int width = int(in.width), height = int(in.height), channels = P_CHANNELS;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      for (int c = 0; c < channels; c++) {
        int sum = 128;
        for (int dy = -2; dy <= 2; dy++)
          for (int dx = -2; dx <= 2; dx++) {
            const int yy = std::clamp(y + dy, 0, height - 1), xx = std::clamp(x + dx, 0, width - 1);
            sum += weights[dy + 2] * weights[dx + 2] * in.bytes[(yy * width + xx) * channels + c];
          }
        out.push_back(uint8_t(sum >> 8));
      }
  return out;
}

Picture chance(tb::Random& random) {
  const size_t widest = P_MAX_ROW_BYTES / P_CHANNELS, most = P_MAX_BYTES / P_CHANNELS;
  Picture picture;
  picture.width = random.percent(30) ? widest : random.between(1, random.percent(50) ? 6 : widest);
  picture.height = random.between(1, random.percent(50) ? 6 : most);
  picture.height = std::max<size_t>(1, std::min(picture.height, most / picture.width));
  picture.bytes.resize(picture.width * picture.height * P_CHANNELS);
  const bool harsh = random.percent(30);
  for (auto& byte : picture.bytes)
    byte = harsh ? uint8_t(random.percent(50) ? 255 : 0) : uint8_t(random.next());
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
  const uint64_t pictures = options.number("pictures", 300);
  const unsigned stalls = unsigned(options.number("stalls", 30));
  const auto quiet = [&] { dut.start = dut.cut = dut.s_valid = dut.m_ready = 0; };
  quiet();
  tb::reset(bench, nobody, nothing);
  uint64_t cycles = 0, latency = 0, period = 0;
  for (uint64_t done = 0; done < pictures; done++) {
    Picture picture = chance(random);
    if (stalls == 0) {
      picture.width = P_MAX_ROW_BYTES / P_CHANNELS;
      picture.height = P_MAX_BYTES / P_CHANNELS / picture.width;
      picture.bytes.assign(picture.width * picture.height * P_CHANNELS, 7);
    }
    const bool reset = stalls > 0 && random.percent(3);
    // What does not come of a picture that is cut counts as 0, and so does some of what came.
    const bool cut = stalls > 0 && !reset && random.percent(10);
    const size_t until = reset || cut ? random.between(0, picture.bytes.size() - 1)
                                      : picture.bytes.size();
    const std::vector<uint8_t> wanted = blurred(picture);
    std::vector<uint8_t> arrived;
    dut.row_bytes = uint32_t(picture.width * P_CHANNELS);
    dut.rows = uint32_t(picture.height);
    dut.bytes = uint32_t(picture.bytes.size());
    dut.start = 1;
    tb::step(bench, nobody, nothing);
    dut.start = 0;
    // Nobody listens while it is busy.
    dut.row_bytes = dut.rows = dut.bytes = 1;
    size_t sent = 0;
    uint64_t at = 0, first_in = 0, first_out = 0;
    bool ended = false;
    while (!ended) {
      if (reset && sent >= until) break;
      dut.start = random.percent(5);
      if (!dut.s_valid && sent < until && !random.percent(stalls)) {
        const size_t bytes = std::min<size_t>(8, picture.bytes.size() - sent);
        uint64_t data = random.next();
        std::memcpy(&data, picture.bytes.data() + sent, bytes);
        dut.s_data = data;
        dut.s_bytes = uint8_t(bytes);
        dut.s_valid = 1;
      }
      dut.cut = cut && sent >= until && !dut.s_valid;
      dut.m_ready = !random.percent(stalls);
      bench.settle();
      const bool in = dut.s_valid && dut.s_ready, out = dut.m_valid && dut.m_ready;
      if (in && sent == 0) first_in = at;
      if (out) {
        if (arrived.empty()) first_out = at;
        const uint64_t data = dut.m_data;
        const auto* bytes = reinterpret_cast<const uint8_t*>(&data);
        arrived.insert(arrived.end(), bytes, bytes + dut.m_bytes);
        ended = dut.m_last;
        if (ended != (arrived.size() >= wanted.size())) tb::fail("it ends at byte %zu of %zu",
                                                                 arrived.size(), wanted.size());
      }
      if (in) sent += dut.s_bytes;
      tb::step(bench, nobody, nothing);
      if (in) dut.s_valid = 0;
      at += 1;
      if (++cycles > 100000000) tb::fail("it stands still in picture %llu",
                                         (unsigned long long)done);
    }
    quiet();
    if (!reset && dut.busy) tb::fail("it is busy behind its picture");
    if (reset) tb::reset(bench, nobody, nothing);
    else if (!cut && arrived != wanted) {
      size_t first = 0;
      while (arrived[first] == wanted[first]) first += 1;
      tb::fail("picture %llu of %zu x %zu differs at byte %zu: %u, not %u", (unsigned long long)done,
               picture.width, picture.height, first, arrived[first], wanted[first]);
    }
    latency = first_out - first_in;
    period = at;
  }
  tb::report("row_beats", (P_MAX_ROW_BYTES + 7) / 8);
  tb::report("beats", P_MAX_ROW_BYTES / 8 * (P_MAX_BYTES / P_MAX_ROW_BYTES));
  tb::report("latency", latency);
  tb::report("period", period);
}
