// Testbench of osif: clients with random stalls on one side, on the other a host that sleeps until
// the doorbell's edge, reads what waits, acknowledges that and sleeps again. The reference model is
// one list of words per client and direction. A host that sleeps while a word waits has missed a ring.
#include "axis.hpp"

constexpr size_t clients = P_CLIENTS;
constexpr size_t words = P_WORD_WIDTH / 64;
constexpr size_t up_depth = P_UP_DEPTH;
constexpr size_t down_depth = P_DOWN_DEPTH;
using Text = std::array<uint64_t, words>;

struct Client {
  std::deque<Text> up, up_expected, down_expected;
  bool offering = false;
  tb::Stalls up_stalls, down_stalls;
  bool waited = false;
  Text shown{};
};

struct Osif {
  tb::Bench bench;
  std::vector<Client> all;
  std::vector<tb::Source> no_sources;
  std::vector<tb::Sink> no_sinks;
  uint64_t edges = 0, received = 0, delivered = 0, pushed = 0;
  bool rang = false;
  bool edge = false;       // since the host has last looked
  uint32_t taken = 0;      // as the host has it
  uint64_t refused = 0;

  Osif(const tb::Options& options, unsigned stalls) : bench(options) {
    for (size_t i = 0; i < clients; i++)
      all.push_back({{}, {}, {}, false, tb::Stalls(stalls, 30), tb::Stalls(stalls, 60), false, {}});
    bench.dut->register_write = 0;
    std::memset(&bench.dut->up_valid, 0, sizeof bench.dut->up_valid);
    tb::reset(bench, no_sources, no_sinks);
  }
  template <class Port>
  tb::Bit bit(Port& port, size_t i) { return tb::Bit(port, i); }
  template <class Port>
  uint8_t* word(Port& port, size_t i) {
    return reinterpret_cast<uint8_t*>(&port) + i * words * 8;
  }
  void step() {
    auto& dut = *bench.dut;
    for (size_t i = 0; i < clients; i++) {
      Client& client = all[i];
      if (!client.offering && !client.up.empty() && !client.up_stalls.pause(bench.random))
        client.offering = true;
      bit(dut.up_valid, i).set(client.offering);
      Text text;
      for (auto& part : text) part = bench.random.next();
      if (client.offering) text = client.up.front();
      std::memcpy(word(dut.up_word, i), text.data(), words * 8);
      bit(dut.down_ready, i).set(!client.down_stalls.pause(bench.random));
    }
    tb::step(bench, no_sources, no_sinks, [&] {
      for (size_t i = 0; i < clients; i++) {
        Client& client = all[i];
        if (client.offering && bit(dut.up_ready, i).get()) {
          client.up_expected.push_back(client.up.front());
          client.up.pop_front();
          client.offering = false;
          pushed += 1;
        }
        const bool valid = bit(dut.down_valid, i).get();
        Text text;
        std::memcpy(text.data(), word(dut.down_word, i), words * 8);
        if (client.waited && (!valid || text != client.shown)) tb::fail("client %zu: changed", i);
        client.waited = valid && !bit(dut.down_ready, i).get();
        client.shown = text;
        if (!valid || client.waited) continue;
        if (client.down_expected.empty()) tb::fail("client %zu: a word that nobody sent", i);
        if (client.down_expected.front() != text) tb::fail("client %zu: another word", i);
        client.down_expected.pop_front();
        delivered += 1;
      }
      if (dut.doorbell && !rang) {
        edges += 1;
        edge = true;
      }
      rang = dut.doorbell;
    });
  }
  // What the registers say behind a reset.
  void begins_anew() {
    for (const unsigned number : {0, 1, 4, 5})
      if (read(number) != 0) tb::fail("register %u is not 0 behind a reset", number);
    for (size_t i = 0; i < clients; i++) {
      write(4, i);
      if (read(3) != down_depth) tb::fail("client %zu: no room behind a reset", i);
    }
    if (bench.dut->doorbell) tb::fail("the doorbell rings behind a reset");
  }
  uint64_t read(unsigned address) {
    bench.dut->register_address = address;
    step();
    return bench.dut->register_read_data;
  }
  void write(unsigned address, uint64_t value) {
    auto& dut = *bench.dut;
    dut.register_address = address;
    dut.register_write = 1;
    dut.register_write_data = value;
    step();
    dut.register_write = 0;
  }
  // The host wakes, takes what waits when it looks, and acknowledges that.
  void serve() {
    edge = false;
    const uint32_t written = uint32_t(read(0));
    if (written - taken > up_depth) tb::fail("%u entries wait", written - taken);
    for (uint32_t n = taken; n != written; n++) {
      const unsigned place = 16 + 16 * (n % up_depth);
      const size_t i = read(place);
      if (i >= clients) tb::fail("a word of client %zu", i);
      Text text;
      for (size_t part = 0; part < words; part++) text[part] = read(place + 1 + part);
      Client& client = all[i];
      if (client.up_expected.empty()) tb::fail("client %zu: a word too many", i);
      if (client.up_expected.front() != text) tb::fail("client %zu: a word was changed", i);
      client.up_expected.pop_front();
      received += 1;
    }
    if (bench.random.percent(5)) {
      // A host that counts wrongly does no harm.
      write(1, written + up_depth + 1 + bench.random.between(0, 5));
      write(1, taken - 1 - bench.random.between(0, 5));
      refused += 2;
    }
    write(1, written);
    taken = written;
    if (read(1) != taken) tb::fail("the acknowledgement had no effect");
  }
  void send() {
    const size_t i = bench.random.between(0, clients - 1);
    Text text;
    for (size_t part = 0; part < words; part++)
      write(8 + part, text[part] = bench.random.next());
    write(4, i);
    if (read(3) > 0) {
      all[i].down_expected.push_back(text);
      write(2, i);
    } else {
      // The client may have made room since.
      const uint64_t before = read(5);
      all[i].down_expected.push_back(text);
      write(2, i);
      if (read(5) != before) {
        all[i].down_expected.pop_back();
        refused += 1;
      }
    }
    if (bench.random.percent(5)) {
      write(2, clients + bench.random.between(0, 3) * 64);
      refused += 1;
    }
  }
};

int main(int count, char** words_of_command) {
  const tb::Options options(count, words_of_command);
  Osif osif(options, 10);
  const uint64_t shape = osif.read(6);
  if ((shape & 0xff) != clients || (shape >> 8 & 0xff) != words
      || (shape >> 16 & 0xffff) != up_depth || (shape >> 32) != down_depth)
    tb::fail("SHAPE says %llx", (unsigned long long)shape);
  osif.begins_anew();
  const uint64_t many = options.number("messages", 2000);
  uint64_t made = 0;
  const auto busy = [&] {
    for (const Client& client : osif.all)
      if (!client.up.empty() || !client.up_expected.empty() || !client.down_expected.empty())
        return true;
    return made < many;
  };
  uint64_t asleep = 0;
  while (busy()) {
    auto& random = osif.bench.random;
    // Bursts of words, so that the queue is full at times and empty at others.
    if (made < many && random.percent(4))
      for (uint64_t n = random.between(1, 2 * up_depth); n > 0 && made < many; n--, made++) {
        Text text;
        for (auto& part : text) part = random.next();
        osif.all[random.between(0, clients - 1)].up.push_back(text);
      }
    if (osif.edge) {
      osif.serve();
      asleep = 0;
    } else if (random.percent(3) && made < many) {
      osif.send();
    } else {
      osif.step();
      asleep += 1;
    }
    if (asleep > 5000 + 100 * many)
      tb::fail("words wait and the host sleeps: the doorbell has not rung");
  }
  if (osif.read(5) != osif.refused) tb::fail("REFUSED does not count what was refused");
  if (osif.received != many) tb::fail("%llu words came up", (unsigned long long)osif.received);
  for (int i = 0; i < 10; i++) osif.step();
  if (osif.bench.dut->doorbell) tb::fail("the doorbell rings for nothing");
  tb::reset(osif.bench, osif.no_sources, osif.no_sinks);
  osif.begins_anew();
  tb::report("received", osif.received);
  tb::report("delivered", osif.delivered);
  tb::report("edges", osif.edges);
  tb::report("refused", osif.refused);
}
