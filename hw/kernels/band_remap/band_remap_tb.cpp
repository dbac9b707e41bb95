// Testbench of band_remap: random pictures of all sizes that fit, random places that a band of rows
// is enough for, random stalls on all sides, cuts, resets; the reference is the formula in the head
// of the module, with products as they stand there.
#include "axis.hpp"

namespace {

struct Place {
  int x, y;
  unsigned need, keep;
};

struct Picture {
  int width, height, channels;
  std::vector<uint8_t> bytes;
  std::vector<Place> places;
};

// Rows of places from the top of the picture to its end, each within the band.
Picture chance(tb::Random& random, bool plain) {
  Picture picture;
  picture.width = random.percent(30) ? P_MAX_WIDTH : int(random.between(1, P_MAX_WIDTH));
  picture.height = int(random.between(1, random.percent(30) ? 3 : 40));
  picture.channels = random.percent(50) ? 3 : 1;
  if (plain) picture.width = P_MAX_WIDTH, picture.height = 40;
  picture.bytes.resize(size_t(picture.width) * picture.height * picture.channels);
  const bool harsh = random.percent(30);
  for (auto& byte : picture.bytes)
    byte = harsh ? uint8_t(random.percent(50) ? 255 : 0) : uint8_t(random.next());
  const int rows = plain ? 40 : int(random.between(1, 30));
  const int columns = plain ? P_MAX_WIDTH : int(random.between(1, 2 * P_MAX_WIDTH));
  int top = 0;
  for (int row = 0; row < rows; row++) {
    if (plain) top = row;
    else if (random.percent(60)) top += int(random.between(0, random.percent(20) ? P_BAND : 2));
    unsigned need = 0, keep = unsigned(std::min(top, picture.height));
    const size_t first = picture.places.size();
    for (int column = 0; column < columns; column++) {
      int x = column, y = top;
      if (!plain) {
        x = int(random.between(0, unsigned(picture.width) + 4)) - 2;
        y = top + int(random.between(0, P_BAND - 2));
        if (top == 0 && random.percent(10)) y = -1 - int(random.between(0, 2));
        if (random.percent(3)) x = random.percent(50) ? -30000 : 30000;
        if (random.percent(3)) y = random.percent(50) ? -30000 : 30000;
      }
      const int part_x = plain ? 512 : random.percent(20) ? 0 : int(random.between(0, 1023));
      const int part_y = plain ? 512 : random.percent(20) ? 1023 : int(random.between(0, 1023));
      if (x >= -1 && x < picture.width && y >= -1 && y < picture.height)
        need = std::max(need, unsigned(std::min(y + 2, picture.height)));
      picture.places.push_back({x * 1024 + part_x, y * 1024 + part_y, 0, keep});
    }
    for (size_t i = first; i < picture.places.size(); i++) picture.places[i].need = need;
  }
  return picture;
}

std::vector<uint8_t> remapped(const Picture& in) {
  std::vector<uint8_t> out;
  for (const Place& place : in.places) {
    const int x = place.x >> 10, y = place.y >> 10;
    const uint32_t fx = place.x & 1023, fy = place.y & 1023;
    for (int c = 0; c < in.channels; c++) {
      const auto at = [&](int column, int row) -> uint32_t {
        if (column < 0 || column >= in.width || row < 0 || row >= in.height) return 0;
        return in.bytes[(size_t(row) * in.width + column) * in.channels + c];
      };
      const uint32_t top = (1024 - fy) * ((1024 - fx) * at(x, y) + fx * at(x + 1, y));
      const uint32_t bottom = fy * ((1024 - fx) * at(x, y + 1) + fx * at(x + 1, y + 1));
      out.push_back(uint8_t((top + bottom + (1 << 19)) >> 20));
    }
  }
  return out;
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
  const auto quiet = [&] { dut.start = dut.cut = dut.s_valid = dut.p_valid = dut.m_ready = 0; };
  quiet();
  tb::reset(bench, nobody, nothing);
  uint64_t cycles = 0, latency = 0, period = 0, pixels = 0;
  for (uint64_t done = 0; done < pictures; done++) {
    const Picture picture = chance(random, stalls == 0);
    const std::vector<uint8_t> wanted = remapped(picture);
    const bool reset = stalls > 0 && random.percent(3);
    // Who waits long for the sink has read less than it has taken.
    const unsigned sink_stalls = stalls > 0 && random.percent(30) ? 85 : stalls;
    const bool cut = stalls > 0 && !reset && random.percent(10);
    const size_t until = reset || cut ? random.between(0, unsigned(picture.bytes.size()) - 1)
                                      : picture.bytes.size();
    std::vector<uint8_t> arrived;
    dut.colour = picture.channels == 3;
    dut.width = uint16_t(picture.width);
    dut.height = uint16_t(picture.height);
    dut.start = 1;
    tb::step(bench, nobody, nothing);
    dut.start = 0;
    // Nobody listens while it is busy.
    dut.colour = !dut.colour;
    dut.width = dut.height = 1;
    size_t sent = 0, placed = 0;
    uint64_t at = 0, first_in = 0, first_out = 0;
    bool ended = false;
    while (!ended || (!cut && sent < picture.bytes.size())) {
      if (reset && sent >= until) break;
      dut.start = random.percent(5) && !ended;
      if (!dut.s_valid && sent < until && !random.percent(stalls)) {
        const size_t bytes = std::min<size_t>(8, picture.bytes.size() - sent);
        uint64_t data = random.next();
        std::memcpy(&data, picture.bytes.data() + sent, bytes);
        dut.s_data = data;
        dut.s_bytes = uint8_t(bytes);
        dut.s_valid = 1;
      }
      if (!dut.p_valid && placed < picture.places.size() && !random.percent(stalls)) {
        const Place& place = picture.places[placed];
        dut.p_x = uint32_t(place.x) & 0x3ffffff;
        dut.p_y = uint32_t(place.y) & 0x3ffffff;
        dut.p_need = uint16_t(place.need);
        dut.p_keep = uint16_t(place.keep);
        dut.p_last = placed + 1 == picture.places.size();
        dut.p_valid = 1;
      }
      dut.cut = cut && sent >= until && !dut.s_valid;
      // Whoever feeds it lets nobody see the end before all has come.
      dut.m_ready = !random.percent(sink_stalls);
      bench.settle();
      if (dut.m_valid && dut.m_last && !cut && sent < picture.bytes.size()) {
        dut.m_ready = 0;
        bench.settle();
      }
      const bool in = dut.s_valid && dut.s_ready, out = dut.m_valid && dut.m_ready;
      const bool place = dut.p_valid && dut.p_ready;
      if (in && sent == 0) first_in = at;
      if (out) {
        if (arrived.empty()) first_out = at;
        const uint64_t data = dut.m_data;
        const auto* bytes = reinterpret_cast<const uint8_t*>(&data);
        arrived.insert(arrived.end(), bytes, bytes + dut.m_bytes);
        ended = dut.m_last;
        if (ended != (arrived.size() >= wanted.size()))
          tb::fail("it ends at byte %zu of %zu", arrived.size(), wanted.size());
      }
      if (in) sent += dut.s_bytes;
      if (place) placed += 1;
      tb::step(bench, nobody, nothing);
      if (in) dut.s_valid = 0;
      if (place) dut.p_valid = 0;
      at += 1;
      if (++cycles > 100000000 || at > 2000000)
        tb::fail("it stands still in picture %llu", (unsigned long long)done);
    }
    quiet();
    if (!reset && dut.busy) tb::fail("it is busy behind its picture");
    if (reset) tb::reset(bench, nobody, nothing);
    else if (!cut && arrived != wanted) {
      size_t first = 0;
      while (arrived[first] == wanted[first]) first += 1;
      tb::fail("picture %llu of %d x %d, %d channels, differs at byte %zu: %u, not %u",
               (unsigned long long)done, picture.width, picture.height, picture.channels, first,
               arrived[first], wanted[first]);
    }
    latency = first_out - first_in;
    period = at;
    pixels = picture.places.size();
  }
  tb::report("pixels", pixels);
  tb::report("latency", latency);
  tb::report("period", period);
}
