// Testbench of gateways with all that stands between a topic and host memory. The host here knows
// the gateway's words, osif's registers and its doorbell, and nothing else: it sleeps until the
// doorbell's edge, and looks at a message's memory only when it is told to. The reference model are
// the bytes of each message: where they came from, where they have to be, what their report says.
#include "axi_memory.hpp"

#include <optional>

constexpr size_t bytes = P_WIDTH / 8;
constexpr size_t gateways = P_GATEWAYS;
constexpr unsigned first_id = 7, watchdog = 300, max_bytes = 40000, osif_depth = 8;
constexpr uint64_t region = 1 << 16;                // of memory, for one message or one buffer
constexpr uint64_t read_base = 1 << 28, write_base = 2 << 28, closed_base = 3 << 28;

enum Kind : uint8_t { message = 1, stamp, segment, sent, credit = 0x11, arrived };
enum Status : unsigned { cut = 1, damaged = 2, error = 4, refused = 8 };
using Words = std::array<uint64_t, 2>;

// A message on its way down.
struct Down {
  std::vector<Words> words;
  tb::Message frame;
  unsigned status = 0;
  bool no_frame = false, framed = false;
  uint64_t base = 0;  // its region of memory
  uint16_t tag = 0;
};

// A message that was offered on the topic, as the gateway gets it.
struct Up {
  std::vector<uint8_t> bytes;
  bool damaged = false;
  std::array<uint8_t, 24> header() const {
    std::array<uint8_t, 24> header{};
    std::memcpy(header.data(), bytes.data(), std::min<size_t>(24, bytes.size()));
    return header;
  }
  template <class T>
  T field(size_t at) const {
    T value;
    std::memcpy(&value, header().data() + at, sizeof value);
    return value;
  }
};

struct Credit {
  uint16_t tag;
  uint64_t address;
  uint32_t capacity;
};

// One gateway as its host and its topic see it.
struct Side {
  std::deque<Words> commands, credits_to_send;   // that osif has had no room for
  std::deque<Down> frames, reports;              // that are to come
  std::deque<Up> offered;                        // on the topic, not accounted for
  std::deque<Credit> posted;
  uint64_t down = 0, down_bad = 0, down_refused = 0, up = 0, up_bad = 0, own = 0, dropped = 0;
  uint64_t up_bytes = 0, down_bytes = 0, up_stall = 0, down_stall = 0;
  uint32_t sequence = 0;
  bool reliable = true;
  bool in_message = false;  // a message has begun to reach the gateway, and has not ended
};

struct System {
  tb::Bench bench;
  tb::Bytes memory;
  tb::AxiWriteMemory write_memory;
  tb::AxiReadMemory read_memory;
  std::vector<tb::Source> sources;
  std::vector<tb::Sink> sinks;
  std::array<Side, gateways> sides;
  std::map<uint64_t, bool> bad_regions;  // in which the memory has reported an error
  unsigned error_percent = 0;
  uint64_t next_region = 0;
  uint32_t taken = 0;
  uint16_t tags = 0;
  bool edge = false, rang = false;
  uint64_t in_messages = 0;  // how often one was seen there
  uint64_t edge_cycle = 0, last_in = 0, first_in = 0, first_out = 0, last_out = 0, in = 0, out = 0;

  System(const tb::Options& options, tb::AxiBehaviour behaviour, unsigned stalls)
      : bench(options), write_memory(AXI_WRITE_PORT(*bench.dut, m_axi), bytes, memory, behaviour),
        read_memory(AXI_READ_PORT(*bench.dut, m_axi), bytes, memory, behaviour) {
    auto& dut = *bench.dut;
    for (size_t g = 0; g < gateways; g++) {
      sources.emplace_back(AXIS_LANE(dut, s_axis, g, bytes), tb::Stalls(stalls, 20));
      sinks.emplace_back("topic", AXIS_LANE(dut, m_axis, g, bytes), tb::Stalls(stalls, 60),
                         [this, g](const tb::Message& m) { take_frame(g, m); });
    }
    const auto respond = [this](const tb::AxiBurst& burst) {
      if (!bench.random.percent(error_percent)) return uint8_t(bench.random.next() & 1);
      bad_regions[burst.address / region] = true;
      return uint8_t(2);
    };
    write_memory.respond = respond;
    read_memory.respond = respond;
    start();
  }
  // After power-on or in mid-flow: everybody but the memory's bytes forgets everything.
  void start() {
    auto& dut = *bench.dut;
    for (Side& side : sides) side = Side();
    bad_regions.clear();
    taken = 0;
    edge = rang = false;
    dut.osif_write = dut.window_write = dut.register_write = 0;
    write_memory.clear();
    read_memory.clear();
    tb::reset(bench, sources, sinks);
    for (unsigned n = 0; n < 2; n++) {
      dut.window_write = 1;
      dut.window_number = n;
      dut.window_first = (n == 0 ? read_base : write_base) >> 12;
      dut.window_last = ((n == 0 ? read_base : write_base) + (1 << 28) - 1) >> 12;
      dut.window_readable = n == 0;
      dut.window_writable = n == 1;
      step();
    }
    dut.window_write = 0;
    begins_anew();
  }
  // What every gateway's registers say behind a reset, and that writes to others change none.
  void begins_anew() {
    auto& dut = *bench.dut;
    for (unsigned number = 1; number < 16; number++) {
      dut.register_address = number;
      dut.register_write = (1u << gateways) - 1;
      dut.register_write_data = bench.random.next() & ~1ull;
      step();
    }
    dut.register_write = 0;
    for (size_t g = 0; g < gateways; g++) {
      if (gateway_register(g, 0) != 1) tb::fail("gateway %zu: not reliable behind a reset", g);
      for (unsigned number = 3; number < 16; number++)
        if (gateway_register(g, number) != 0)
          tb::fail("gateway %zu: register %u is not 0 behind a reset", g, number);
    }
  }
  void step() {
    auto& dut = *bench.dut;
    write_memory.drive(bench.random, bench.cycle);
    read_memory.drive(bench.random, bench.cycle);
    tb::step(bench, sources, sinks, [&] {
      write_memory.sample(bench.random, bench.cycle);
      read_memory.sample(bench.random, bench.cycle);
      if (dut.doorbell && !rang) {
        edge = true;
        edge_cycle = bench.cycle;
      }
      rang = dut.doorbell;
      if (P_ISOLATE && dut.paused) tb::fail("a gateway pauses inside a burst");
      for (size_t g = 0; g < gateways; g++) {
        const bool valid = dut.into_valid >> g & 1, ready = dut.into_ready >> g & 1;
        sides[g].up_stall += valid && !ready;
        if (valid && ready) sides[g].in_message = !(dut.into_last >> g & 1);
        sides[g].down_stall += (dut.m_axis_tvalid & ~dut.m_axis_tready) >> g & 1;
      }
      if ((dut.s_axis_tvalid & 1) && (dut.s_axis_tready & 1)) {
        if (in++ == 0) first_in = bench.cycle;
        last_in = bench.cycle;
      }
      if ((dut.m_axis_tvalid & 1) && (dut.m_axis_tready & 1)) {
        if (out++ == 0) first_out = bench.cycle;
        last_out = bench.cycle;
      }
    });
  }

  // Registers ------------------------------------------------------------------------------------

  uint64_t read(unsigned address) {
    bench.dut->osif_address = address;
    step();
    return bench.dut->osif_read_data;
  }
  void write(unsigned address, uint64_t value) {
    auto& dut = *bench.dut;
    dut.osif_address = address;
    dut.osif_write = 1;
    dut.osif_write_data = value;
    step();
    dut.osif_write = 0;
  }
  uint64_t gateway_register(size_t g, unsigned number) {
    bench.dut->register_address = number;
    step();
    uint64_t value;
    std::memcpy(&value, reinterpret_cast<uint8_t*>(&bench.dut->register_read_data) + 8 * g, 8);
    return value;
  }
  void set_reliable(size_t g, bool reliable) {
    auto& dut = *bench.dut;
    dut.register_address = 0;
    dut.register_write = 1u << g;
    dut.register_write_data = reliable;
    step();
    dut.register_write = 0;
    dut.register_write_data = !reliable;
    sides[g].reliable = reliable;
    check_control(g);
  }
  void check_control(size_t g) {
    const uint64_t wanted = sides[g].in_message << 1 | sides[g].reliable;
    const uint64_t found = gateway_register(g, 0);
    if (found != wanted)
      tb::fail("gateway %zu: CONTROL is %llu instead of %llu", g, (unsigned long long)found,
               (unsigned long long)wanted);
    in_messages += wanted >> 1;
  }

  // Down -----------------------------------------------------------------------------------------

  uint64_t new_region(uint64_t base) { return base + next_region++ % 1024 * region; }
  // The payload in segments; `wrong` says what the host does wrong, 0 nothing.
  Down make_down(size_t g, size_t payload, size_t segments, unsigned wrong) {
    auto& random = bench.random;
    Side& side = sides[g];
    Down d;
    d.tag = tags++;
    const uint32_t sequence = side.sequence++;
    const uint64_t time = random.next();
    d.base = new_region(wrong == 4 ? closed_base : read_base);
    bad_regions[d.base / region] = wrong == 4;
    d.frame.bytes = {1, 0, uint8_t(first_id + g), 0};
    const auto append = [&](uint64_t value, size_t n) {
      for (size_t i = 0; i < n; i++) d.frame.bytes.push_back(uint8_t(value >> 8 * i));
    };
    append(payload, 4);
    append(sequence, 4);
    append(0, 4);
    append(time, 8);
    // Segments somewhere in the region, in any order, each at a multiple of 8.
    std::vector<std::pair<uint64_t, uint32_t>> parts;
    size_t left = payload;
    uint64_t place = d.base + 8 * random.between(0, 9);
    while (left > 0 && parts.size() < segments) {
      size_t n = parts.size() + 1 == segments ? left : random.between(1, left);
      if (n < left) n = std::min(left, (n + 7) / 8 * 8);
      parts.push_back({place, uint32_t(n)});
      place += (n + 7) / 8 * 8 + 8 * random.between(0, 9);
      left -= n;
    }
    for (size_t i = parts.size(); i > 1; i--) {
      // Places are exchanged, not lengths: an order that is not that of the memory.
      auto &a = parts[i - 1], &b = parts[random.between(0, i - 1)];
      if ((a.second + 7) / 8 == (b.second + 7) / 8) std::swap(a.first, b.first);
    }
    size_t counted = parts.size(), good = parts.size();
    uint32_t announced = uint32_t(payload);
    if (wrong == 1 && !parts.empty()) {  // too little
      announced += uint32_t(random.between(1, 100));
    } else if (wrong == 2 && payload > 8) {  // too much
      announced -= uint32_t(random.between(1, 8));
    } else if (wrong == 3 && parts.size() > 1) {  // a segment that must not be
      good = random.between(0, parts.size() - 1);
      const unsigned which = unsigned(random.between(0, 3));
      if (which == 0) parts[good].first += random.between(1, 7);
      if (which == 1) parts[good].second = 0;
      if (which == 2) parts[good].first |= 1ull << 40;
      if (which == 3) {
        // An odd length is wrong only before others.
        if (good + 1 < parts.size()) parts[good].second -= 1;
        else parts[good].second = 0;
      }
    } else if (wrong == 5) {  // another message begins in its middle
      good = counted = parts.size();
      counted += 1;
    } else if (wrong == 6) {
      announced = max_bytes + 1;
      d.no_frame = true;
      d.status = refused;
    }
    d.words.push_back({uint64_t(announced) << 32 | uint64_t(d.tag) << 16 | counted << 8 | message,
                       sequence | random.next() << 32});
    d.words.push_back({random.next() << 8 | stamp, time});
    for (const auto& [at, n] : parts)
      d.words.push_back({uint64_t(n) << 32 | (random.next() & 0xffffff) << 8 | segment, at});
    std::memcpy(d.frame.bytes.data() + 4, &announced, 4);
    size_t sum = 0, total = 0;
    for (size_t i = 0; i < good; i++) {
      total += parts[i].second;
      for (uint32_t n = 0; n < parts[i].second && sum < announced; n++, sum++) {
        const uint8_t value = uint8_t(random.next());
        memory.set(parts[i].first + n, value);
        d.frame.bytes.push_back(value);
      }
    }
    if (!d.no_frame && (total != announced || good != counted)) {
      d.status |= damaged;
      d.frame.damaged = true;
    }
    if (!d.no_frame) side.down_bytes += sum;
    return d;
  }
  void send_down(size_t g, Down d) {
    Side& side = sides[g];
    for (const Words& words : d.words) side.commands.push_back(words);
    if (!d.no_frame) side.frames.push_back(d);
    side.reports.push_back(std::move(d));
  }
  void take_frame(size_t g, const tb::Message& m) {
    Side& side = sides[g];
    if (side.frames.empty()) tb::fail("gateway %zu: a frame that nobody sent", g);
    Down d = std::move(side.frames.front());
    side.frames.pop_front();
    d.frame.damaged |= bad_regions[d.base / region] && d.frame.bytes.size() > tb::header_bytes;
    std::deque<tb::Message> expected{d.frame};
    if (d.frame.damaged && d.base >= closed_base && m.bytes.size() == d.frame.bytes.size())
      expected.front().bytes = m.bytes;  // refused by the translation: of no meaning
    tb::expect_next("frame down", expected, m);
    side.down += 1;
  }

  // Up -------------------------------------------------------------------------------------------

  void post_credit(size_t g, uint32_t capacity, bool closed) {
    auto& random = bench.random;
    const uint64_t base = new_region(closed ? closed_base : write_base);
    bad_regions[base / region] = closed;
    const Credit c{tags++, base + 4096 + 64 * random.between(0, 200), capacity};
    for (uint64_t at = base; at < base + region; at++)
      if (memory.get(at) != tb::Bytes::untouched(at)) memory.set(at, tb::Bytes::untouched(at));
    sides[g].posted.push_back(c);
    sides[g].credits_to_send.push_back(
        {uint64_t(c.capacity) << 32 | uint64_t(c.tag) << 16 | (random.next() & 0xff) << 8 | credit,
         c.address});
  }
  // `dies` is the beat after which the publisher falls silent, 0 for never.
  void send_up(size_t g, const tb::Message& m, size_t dies) {
    const auto beats = tb::beats_of(m, bytes);
    Up up{m.bytes, m.damaged};
    for (size_t i = 0; i < beats.size(); i++)
      sources[g].send(beats[i], i == dies && i > 0 ? int64_t(watchdog + 20) : -1);
    if (dies > 0 && dies < beats.size()) {
      up.bytes.resize(dies * bytes);
      up.damaged = true;
    }
    sides[g].offered.push_back(std::move(up));
  }
  bool is_own(size_t g, const Up& up) const { return up.field<uint16_t>(2) == first_id + g; }

  void take_arrived(size_t g, const Words& w) {
    Side& side = sides[g];
    if (side.posted.empty()) tb::fail("gateway %zu: an arrival without a credit", g);
    const Credit c = side.posted.front();
    side.posted.pop_front();
    const uint32_t found_bytes = uint32_t(w[0] >> 32), sequence = uint32_t(w[1] >> 32);
    const uint16_t publisher = uint16_t(w[1]);
    while (!side.offered.empty()) {
      const Up& up = side.offered.front();
      if (is_own(g, up)) side.own += 1;
      else if (!side.reliable && (up.field<uint32_t>(8) != sequence
                                  || up.field<uint16_t>(2) != publisher)) side.dropped += 1;
      else break;
      side.offered.pop_front();
    }
    if (side.offered.empty()) tb::fail("gateway %zu: message %u was never offered", g, sequence);
    const Up up = side.offered.front();
    side.offered.pop_front();
    const uint64_t announced = uint64_t(up.field<uint32_t>(4)) + 24;
    const uint64_t n = std::min<uint64_t>({announced, c.capacity, up.bytes.size()});
    const bool is_cut = announced > c.capacity;
    const bool failed = bad_regions[c.address / region];
    const size_t last_beat = (std::max<size_t>(up.bytes.size(), 1) - 1) / bytes;
    const bool is_damaged = up.damaged
        || (is_cut ? c.capacity > 0 && last_beat < (c.capacity - 1) / bytes
                   : announced != up.bytes.size());
    const unsigned status = (is_cut ? cut : 0) | (is_damaged ? damaged : 0) | (failed ? error : 0);
    if (uint16_t(w[0] >> 16) != c.tag || found_bytes != n || uint8_t(w[0] >> 8) != status
        || sequence != up.field<uint32_t>(8) || publisher != up.field<uint16_t>(2))
      tb::fail("gateway %zu: arrived tag %x, %u bytes, status %u, sequence %x of %u instead of %x, "
               "%llu, %u, %x of %u", g, unsigned(w[0] >> 16 & 0xffff), found_bytes,
               unsigned(w[0] >> 8 & 0xff), sequence, publisher, c.tag, (unsigned long long)n,
               status, up.field<uint32_t>(8), up.field<uint16_t>(2));
    const uint64_t base = c.address / region * region;
    for (uint64_t at = base; at < base + region; at++) {
      const bool inside = at >= c.address && at < c.address + n;
      if (inside && failed) continue;
      const uint8_t wanted = inside ? up.bytes[at - c.address] : tb::Bytes::untouched(at);
      if (memory.get(at) != wanted)
        tb::fail("gateway %zu: message %x in memory: byte %lld is %02x, not %02x", g, sequence,
                 (long long)(at - c.address), memory.get(at), wanted);
    }
    side.up += 1;
    side.up_bad += status != 0;
    side.up_bytes += n;
  }
  void take_sent(size_t g, const Words& w) {
    Side& side = sides[g];
    if (side.reports.empty()) tb::fail("gateway %zu: a message too many was sent", g);
    const Down d = std::move(side.reports.front());
    side.reports.pop_front();
    const unsigned status = d.status | (bad_regions[d.base / region] && !d.no_frame
        && d.frame.bytes.size() > tb::header_bytes ? error : 0);
    if (w[0] != (uint64_t(d.tag) << 16 | status << 8 | sent) || w[1] != 0)
      tb::fail("gateway %zu: sent %llx instead of tag %x, status %u", g, (unsigned long long)w[0],
               d.tag, status);
    // The memory is the host's again: what it does there reaches no frame.
    const uint64_t end = d.base + d.frame.bytes.size() + 1000;
    for (uint64_t at = d.base; at < end; at++) memory.set(at, 0xee);
    side.down_bad += (status & (damaged | error)) != 0;
    side.down_refused += (status & refused) != 0;
  }

  // Host -----------------------------------------------------------------------------------------

  void serve() {
    edge = false;
    const uint32_t written = uint32_t(read(0));
    for (uint32_t n = taken; n != written; n++) {
      const unsigned place = 16 + 16 * (n % osif_depth);
      const size_t client = read(place);
      const Words w{read(place + 1), read(place + 2)};
      if (client >= 2 * gateways) tb::fail("a word of client %zu", client);
      if (uint8_t(w[0]) != (client % 2 ? arrived : sent))
        tb::fail("client %zu: a word of kind %u", client, unsigned(uint8_t(w[0])));
      if (client % 2) take_arrived(client / 2, w);
      else take_sent(client / 2, w);
    }
    write(1, written);
    taken = written;
  }
  // Sends one word for which osif has room.
  bool send_word(size_t client, std::deque<Words>& queue) {
    if (queue.empty()) return false;
    write(4, client);
    if (read(3) == 0) return false;
    write(8, queue.front()[0]);
    write(9, queue.front()[1]);
    write(2, client);
    queue.pop_front();
    return true;
  }
  bool busy() const {
    for (size_t g = 0; g < gateways; g++)
      if (!sides[g].commands.empty() || !sides[g].credits_to_send.empty()
          || !sides[g].frames.empty() || !sides[g].reports.empty() || !sources[g].empty())
        return true;
    return false;
  }
  // One turn of the host's loop.
  void turn(bool serves) {
    bool sent_one = false;
    if (edge && serves) {
      serve();
      sent_one = true;
    }
    for (size_t g = 0; g < gateways; g++) {
      sent_one |= send_word(2 * g, sides[g].commands);
      sent_one |= send_word(2 * g + 1, sides[g].credits_to_send);
    }
    if (!sent_one) step();
  }
  void turn_until(const std::function<bool()>& done) {
    const uint64_t bound = bench.cycle + 200000;
    while (!done() && bench.cycle < bound) turn(true);
    if (!done()) tb::fail("a message never comes to its end");
  }
  void settle_counts(size_t g) {
    Side& side = sides[g];
    // What is left was dropped, or is the gateway's own.
    while (!side.offered.empty()) {
      if (is_own(g, side.offered.front())) side.own += 1;
      else if (!side.reliable) side.dropped += 1;
      else tb::fail("gateway %zu: message %x never arrived", g,
                    side.offered.front().field<uint32_t>(8));
      side.offered.pop_front();
    }
    const std::array<std::pair<unsigned, uint64_t>, 11> wanted{{
        {3, side.down}, {4, side.down_bytes}, {5, side.down_bad}, {6, side.down_refused},
        {7, side.down_stall}, {8, side.up}, {9, side.up_bytes}, {10, side.up_bad},
        {11, side.dropped}, {12, side.own}, {14, side.up_stall}}};
    check_control(g);
    for (const auto& [number, value] : wanted)
      if (gateway_register(g, number) != value)
        tb::fail("gateway %zu: register %u is %llu instead of %llu", g, number,
                 (unsigned long long)gateway_register(g, number), (unsigned long long)value);
  }
};

// Figures of one gateway alone: a long message in each direction at once, then short ones.
void measure(const tb::Options& options) {
  System system(options, {40, 40, 0, 1}, 0);
  const size_t payload = 32768;
  auto& random = system.bench.random;
  system.post_credit(0, 2 * payload, false);
  for (int i = 0; i < 60; i++) system.turn(true);
  Down d = system.make_down(0, payload, 1, 0);
  const uint64_t reads = system.read_memory.beats, at = d.words[2][1];
  system.send_down(0, std::move(d));
  system.send_up(0, tb::frame(random, 1, 0, payload), 0);
  system.turn_until([&] { return system.sides[0].up == 1 && !system.busy(); });
  const size_t beats = (payload + 24 + bytes - 1) / bytes;
  tb::report("beats", beats);
  tb::report("up_cycles", system.last_in - system.first_in + 1);
  tb::report("down_cycles", system.last_out - system.first_out + 1);
  tb::report("read_beats", system.read_memory.beats - reads);
  tb::report("payload_beats", (at + payload + bytes - 1) / bytes - at / bytes);
  tb::report("write_beats", system.write_memory.beats);
  tb::report("bytes_written", system.write_memory.bytes_written);
  tb::report("frame_bytes", payload + 24);
  // Many short messages down, one behind the other.
  for (int i = 0; i < 40; i++) {
    Down shorter = system.make_down(0, 64 * bytes - 24, 1, 0);
    system.send_down(0, std::move(shorter));
  }
  system.out = 0;
  system.turn_until([&] { return !system.busy(); });
  tb::report("short_beats", system.out);
  tb::report("short_cycles", system.last_out - system.first_out + 1);
  // From the last beat to the doorbell, with nothing else in the way.
  for (const size_t size : {40u, 4096u}) {
    system.post_credit(0, 8192, false);
    for (int i = 0; i < 60; i++) system.turn(true);
    system.edge = false;
    system.send_up(0, tb::frame(random, 1, 1, size), 0);
    const uint64_t before = system.edge_cycle;
    for (int i = 0; i < 5000 && system.edge_cycle == before; i++) system.step();
    if (system.edge_cycle == before) tb::fail("a message up never arrives");
    tb::report(size == 40 ? "short_arrival" : "long_arrival", system.edge_cycle - system.last_in);
    system.serve();
  }
  system.settle_counts(0);
}

// Everything at random; the host sleeps through some of it.
void flow(System& system, uint64_t many, bool reliable, bool to_the_end) {
  auto& random = system.bench.random;
  for (size_t g = 0; g < gateways; g++)
    if (system.sides[g].reliable != reliable) system.set_reliable(g, reliable);
  uint64_t made_down = 0, made_up = 0, nap = 0, posts = 0;
  const uint64_t bound = system.bench.cycle + 5000 * many + 100000;
  const auto credits_needed = [&](size_t g) {
    return system.sides[g].posted.size() < P_CREDITS + 2;
  };
  while (made_down < many || made_up < many || system.busy() || [&] {
           for (size_t g = 0; g < gateways; g++)
             for (const Up& up : system.sides[g].offered)
               if (reliable && !system.is_own(g, up)) return true;
           return false;
         }()) {
    if (!to_the_end && made_down >= many / 2) return;
    if (system.bench.cycle > bound) {
      for (size_t i = 0; i < gateways; i++) {
        const Side& s = system.sides[i];
        std::fprintf(stderr, "gateway %zu waits for %zu frames, %zu reports, %zu of %zu credits; "
                     "%zu messages up, %zu words\n", i, s.frames.size(), s.reports.size(),
                     s.credits_to_send.size(), s.posted.size(), s.offered.size(),
                     s.commands.size());
      }
      tb::fail("something hangs");
    }
    const size_t g = random.between(0, gateways - 1);
    Side& side = system.sides[g];
    if (made_down < many && side.reports.size() < 12 && random.percent(20)) {
      const size_t longest = random.percent(10) ? 9000 : 600;
      const size_t size = random.percent(10) ? 0 : random.between(1, longest);
      const unsigned wrong = random.percent(25) ? unsigned(random.between(1, 6)) : 0;
      system.send_down(g, system.make_down(g, size, random.between(1, 6), wrong));
      if (wrong == 5) system.send_down(g, system.make_down(g, 100, 2, 0));
      // After words that belong to no message: they are dropped and counted.
      if (random.percent(5)) {
        const unsigned kinds[] = {0, stamp, segment, credit, 0xff};
        // They come between messages only, so they end none.
        side.commands.push_back({kinds[random.between(0, 4)], random.next()});
        side.down_refused += 1;
        if (uint8_t(side.commands.back()[0]) == segment) {
          // It may lie behind an end that skips segments: then it is no word too many.
          side.commands.pop_back();
          side.down_refused -= 1;
        }
      }
      made_down += 1;
    }
    // What was dropped shows at the next arrival only.
    const bool few_up = side.offered.size() < 12 || (!reliable && system.sources[g].empty());
    if (made_up < many && few_up && random.percent(20)) {
      const size_t size = random.between(0, random.percent(10) ? 9000 : 600);
      size_t actual = size;
      if (random.percent(10)) actual = random.between(0, size);
      if (random.percent(10)) actual = size + random.between(1, 200);
      const uint16_t publisher = uint16_t(random.percent(20) ? first_id + g : random.between(1, 5));
      tb::Message m = tb::frame(random, publisher, side.sequence++, size, actual);
      m.damaged = random.percent(10);
      const size_t beats = m.beats(bytes);
      const bool dies = beats > 2 && random.percent(8);
      system.send_up(g, m, dies ? random.between(1, beats - 1) : 0);
      made_up += 1;
    }
    if (nap == 0 && random.percent(1)) nap = random.between(100, 4000);
    if (nap > 0) nap -= 1;
    if (nap == 0 && credits_needed(g) && random.percent(30)) {
      system.post_credit(g, uint32_t(random.percent(10) ? random.between(64, 400) : 10000),
                         random.percent(3));
      posts += 1;
    }
    if (random.percent(2)) system.check_control(g);
    system.turn(nap == 0);
  }
  for (int i = 0; i < 3000; i++) system.turn(true);
  for (size_t g = 0; g < gateways; g++) system.settle_counts(g);
}

int main(int count, char** words) {
  const tb::Options options(count, words);
  measure(options);
  const uint64_t many = options.number("messages", 150);
  std::array<uint64_t, 6> sums{};
  for (const bool reliable : {true, false}) {
    System system(options, {1, 100, 4, 30}, 4);
    system.error_percent = 1;
    flow(system, many, reliable, true);
    for (const Side& side : system.sides) {
      sums[0] += side.up_bad;
      sums[1] += side.down_bad;
      sums[2] += side.own;
      sums[3] += side.dropped;
      sums[4] += side.down_refused;
    }
    // A reset in the middle of everything, and all over again.
    flow(system, many, reliable, false);
    system.start();
    flow(system, many / 2, reliable, true);
    sums[5] += system.in_messages;
  }
  tb::report("up_bad", sums[0]);
  tb::report("down_bad", sums[1]);
  tb::report("own", sums[2]);
  tb::report("dropped", sums[3]);
  tb::report("refused", sums[4]);
  tb::report("in_message", sums[5]);
}
