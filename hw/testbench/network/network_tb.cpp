// Testbench of generated networks, any of them: it sees a network through its C interface and its
// register map only. Every subscriber gets every message of its topic once, whole, in order per
// publisher, while publishers, subscribers and clocks pause at random; who is switched off gets
// none, who is switched while messages flow gets whole ones; probes, counts of FIFOs and of the
// arbiter say what has passed; and without pauses, how many cycles each topic takes for one longest
// message of every publisher.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "network.h"
#include "random.hpp"
// The register map of this network: `host_registers` and `topic_widths`.
#include "registers.hpp"

namespace {

constexpr size_t header_bytes = 24;
// Payloads of the random part: long enough for several beats at every width.
constexpr uint32_t payload_bytes_max = 600;

uint64_t seed = 1;
uint64_t edges = 0;

[[noreturn]] void fail(const char* format, ...) {
  std::fprintf(stderr, "seed %llu, edge %llu: ", (unsigned long long)seed,
               (unsigned long long)edges);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::fflush(nullptr);
  std::_Exit(1);
}

using tb::Random;

using Bytes = std::vector<uint8_t>;

Bytes message(Random& random, uint16_t publisher, uint32_t sequence, uint32_t payload) {
  Bytes bytes(header_bytes + payload);
  for (auto& byte : bytes) byte = uint8_t(random.next());
  bytes[0] = 1;
  bytes[1] = 0;
  std::memcpy(&bytes[2], &publisher, 2);
  std::memcpy(&bytes[4], &payload, 4);
  std::memcpy(&bytes[8], &sequence, 4);
  return bytes;
}

// One port of the network from outside.
struct End {
  uint32_t index;
  const xd_port* port;
  std::deque<Bytes> sending;
  size_t at = 0;
  Bytes receiving;
  // What is still to come, per publisher of the topic.
  std::vector<std::deque<Bytes>> expected;
  unsigned pause = 0;
  // Whether it gets messages; or may miss some of those under way, as it is being switched.
  bool enabled = true, switched = false;
  // Since the counts were last cleared: bytes of each message that has passed, and beats; and how
  // many messages were sent that this subscriber should have seen.
  std::vector<size_t> passed;
  uint64_t beats = 0, due = 0;

  bool may_miss() const { return port->keep_last || switched; }
};

struct Bench {
  xd_network* network;
  Random random;
  std::vector<End> ends;
  bool stalls;

  Bench(uint64_t with, bool stalls)
      : network(xd_network_new(uint32_t(with))), random{with}, stalls(stalls) {
    for (uint32_t i = 0; i < xd_network_port_count(); i++)
      ends.push_back({i, xd_network_port(i), {}, 0, {}, {}});
    for (End& end : ends) end.expected.resize(ends.size());
  }
  ~Bench() { xd_network_delete(network); }

  void send(End& from, uint32_t sequence, uint32_t payload) {
    const Bytes bytes = message(random, from.port->publisher_id, sequence, payload);
    from.sending.push_back(bytes);
    for (End& to : ends) {
      if (to.port->publishes || std::strcmp(to.port->topic, from.port->topic) != 0) continue;
      if (to.port->filtered_id == from.port->publisher_id) continue;
      if (!to.enabled && !to.switched) continue;
      to.due += 1;
      to.expected[from.index].push_back(bytes);
    }
  }

  bool paused(End& end) {
    if (!stalls) return false;
    if (end.pause > 0) {
      end.pause -= 1;
      return true;
    }
    if (random.percent(8)) end.pause = unsigned(random.between(1, 25));
    return false;
  }

  void push(End& end) {
    if (end.sending.empty() || paused(end)) return;
    const Bytes& bytes = end.sending.front();
    const size_t width = end.port->width_bytes;
    const size_t count = std::min(width, bytes.size() - end.at);
    xd_beat beat = {};
    std::memcpy(beat.data, &bytes[end.at], count);
    beat.keep = count == 64 ? ~0ull : (1ull << count) - 1;
    beat.last = end.at + count == bytes.size();
    if (xd_network_push(network, end.index, &beat) != 1) return;
    active = true;
    end.at += count;
    end.beats += 1;
    if (!beat.last) return;
    end.passed.push_back(bytes.size());
    end.sending.pop_front();
    end.at = 0;
  }

  void pop(End& end) {
    if (paused(end)) return;
    xd_beat beat;
    if (xd_network_pop(network, end.index, &beat) != 1) return;
    active = true;
    end.beats += 1;
    size_t count = end.port->width_bytes;
    if (beat.last)
      for (count = 0; count < end.port->width_bytes && (beat.keep >> count & 1);) count += 1;
    end.receiving.insert(end.receiving.end(), beat.data, beat.data + count);
    if (!beat.last) return;
    if (beat.user) fail("%s: a damaged message", end.port->name);
    take(end);
    end.passed.push_back(end.receiving.size());
    end.receiving.clear();
  }

  void take(End& end) {
    uint16_t publisher;
    if (end.receiving.size() < header_bytes) fail("%s: no header", end.port->name);
    std::memcpy(&publisher, &end.receiving[2], 2);
    for (size_t from = 0; from < ends.size(); from++) {
      const xd_port& port = *ends[from].port;
      if (!port.publishes || port.publisher_id != publisher) continue;
      auto& queue = end.expected[from];
      while (!queue.empty() && queue.front() != end.receiving && end.may_miss())
        queue.pop_front();
      if (queue.empty() || queue.front() != end.receiving)
        fail("%s: not the next message of %s", end.port->name, port.name);
      queue.pop_front();
      return;
    }
    fail("%s: a message of publisher %u", end.port->name, publisher);
  }

  bool pending() const {
    for (const End& end : ends) {
      if (!end.sending.empty()) return true;
      for (const auto& queue : end.expected)
        if (!queue.empty() && !end.may_miss()) return true;
    }
    return false;
  }

  void edge(uint64_t mask) {
    if (xd_network_edge(network, mask) != 0) fail("the clocks are refused");
    edges += 1;
    for (uint32_t clock = 0; clock < xd_network_clock_count(); clock++)
      clock_edges[clock] += mask >> clock & 1;
  }

  uint64_t all_clocks() const {
    const uint32_t clocks = xd_network_clock_count();
    return clocks == 64 ? ~0ull : (1ull << clocks) - 1;
  }

  void step() {
    for (End& end : ends)
      if (end.port->publishes) push(end);
    const uint64_t all = all_clocks();
    uint64_t mask = all;
    while (stalls && (mask = random.next() & all) == 0) {
    }
    edge(mask);
    for (End& end : ends)
      if (!end.port->publishes) pop(end);
  }

  void finish(uint64_t bound) {
    for (uint64_t i = 0; pending(); i++) {
      if (i == bound) fail("messages did not arrive");
      step();
    }
  }

  // Until nothing has moved for so long that nothing is inside: a pause of both ends of a stream
  // and what a message needs from one stage to the next are far shorter.
  void settle() {
    for (uint64_t quiet = 0; quiet < 1000; quiet = active ? 0 : quiet + 1) {
      active = false;
      step();
    }
  }

  bool active = false;  // a beat was pushed or popped
  uint64_t clock_edges[64] = {};
};

// The same by xd_network_run: whole messages, clocks with periods of their own, and stops at random
// times. Nothing but what was sent arrives, buffers that are too short stay whole, time never goes
// back, and what is refused changes nothing.
struct Runner {
  static constexpr uint64_t none = ~0ull;
  static constexpr size_t guard = 64;
  Bench bench;
  std::vector<xd_source> sources;
  std::vector<xd_sink> sinks;
  std::vector<Bytes> buffers;
  std::vector<xd_clock> clocks;
  uint64_t now = 0;

  explicit Runner(uint64_t with) : bench(with, true) {
    for (uint32_t i = 0; i < xd_network_clock_count(); i++) {
      const uint64_t period = bench.random.between(1, 40);
      clocks.push_back({period, period});
    }
    for (End& end : bench.ends) {
      if (end.port->publishes) {
        sources.push_back({});
        sources.back().port = end.index;
        sources.back().done = 1;
      } else {
        sinks.push_back({});
        sinks.back().port = end.index;
        buffers.push_back({});
      }
    }
    for (size_t i = 0; i < sinks.size(); i++) arm(i);
  }

  // Some buffers have no room for the longest message.
  void arm(size_t at) {
    const xd_port& of = *bench.ends[sinks[at].port].port;
    const uint32_t longest = std::min(payload_bytes_max, of.payload_bytes_max);
    const uint64_t room = header_bytes + (bench.random.percent(20) ? longest / 2 : longest);
    buffers[at].assign(room + guard, 0xa5);
    const uint32_t port = sinks[at].port;
    sinks[at] = {};
    sinks[at].port = port;
    sinks[at].data = buffers[at].data();
    sinks[at].capacity = room;
  }

  void refusals() {
    xd_run run = {clocks.data(), sources.data(), sinks.data(), uint32_t(sources.size()),
                  uint32_t(sinks.size()), now + 1000, now, 0};
    const auto refused = [&](const char* what) {
      if (xd_network_run(bench.network, &run) != -1) fail("%s is not refused", what);
    };
    run.clocks = nullptr;
    refused("no clock");
    run.clocks = clocks.data();
    run.until_ps = none;
    refused("the end of time");
    run.until_ps = now + 1000;
    xd_source wrong = {};
    wrong.frame = buffers.empty() ? nullptr : buffers[0].data();
    wrong.bytes = 1;
    run.sources = &wrong;
    run.source_count = 1;
    for (uint32_t port : {xd_network_port_count(), sinks.empty() ? ~0u : sinks[0].port}) {
      wrong.port = port;
      refused("a port that does not publish");
    }
    run.source_count = 0;
    std::vector<xd_sink> twice(2, sinks.empty() ? xd_sink{} : sinks[0]);
    if (sinks.empty()) return;
    run.sinks = twice.data();
    run.sink_count = 2;
    refused("a port named twice");
    const uint64_t period = clocks[0].period_ps;
    clocks[0].period_ps = 0;
    run.sink_count = 0;
    refused("a clock without a period");
    clocks[0].period_ps = period;
  }

  void send() {
    for (xd_source& source : sources) {
      End& end = bench.ends[source.port];
      if (!source.done) continue;
      if (source.sent > 0) {
        end.sending.pop_front();
        source.sent = 0;
      }
      if (end.sending.empty() || bench.paused(end)) continue;
      source.frame = end.sending.front().data();
      source.bytes = end.sending.front().size();
      source.done = 0;
    }
  }

  void take() {
    for (size_t i = 0; i < sinks.size(); i++) {
      const xd_sink& sink = sinks[i];
      for (uint64_t at = sink.capacity; at < buffers[i].size(); at++)
        if (buffers[i][at] != 0xa5) fail("a sink writes behind its buffer");
      if (!sink.done) continue;
      End& end = bench.ends[sink.port];
      if (sink.damaged) fail("%s: a damaged message", end.port->name);
      if (sink.first_ps > sink.done_ps || sink.done_ps > now) fail("%s: odd times", end.port->name);
      end.receiving.assign(sink.data, sink.data + std::min(sink.received, sink.capacity));
      if (sink.received > sink.capacity) whole(end, sink.received);
      bench.take(end);
      arm(i);
    }
  }

  // The part of a long message that did not fit is that of the message it is the start of.
  void whole(End& end, uint64_t bytes) {
    for (const auto& queue : end.expected)
      for (const Bytes& message : queue)
        if (message.size() == bytes &&
            std::equal(end.receiving.begin(), end.receiving.end(), message.begin())) {
          end.receiving = message;
          return;
        }
    fail("%s: not the start of a message", end.port->name);
  }

  void go(uint64_t messages) {
    refusals();
    for (End& end : bench.ends)
      for (uint32_t i = 0; end.port->publishes && i < messages; i++) {
        const uint32_t longest = std::min(payload_bytes_max, end.port->payload_bytes_max);
        bench.send(end, i, uint32_t(bench.random.between(0, longest)));
      }
    for (uint64_t i = 0; bench.pending(); i++) {
      if (i == 2000000) fail("messages did not arrive");
      send();
      // Who is not named is not served: its beats wait.
      std::vector<xd_sink> named;
      std::vector<size_t> index;
      for (size_t at = 0; at < sinks.size(); at++)
        if (!bench.paused(bench.ends[sinks[at].port])) {
          named.push_back(sinks[at]);
          index.push_back(at);
        }
      std::vector<xd_source> offering;
      for (const xd_source& source : sources)
        if (!source.done) offering.push_back(source);
      xd_run run = {clocks.data(), offering.data(), named.data(), uint32_t(offering.size()),
                    uint32_t(named.size()), now + bench.random.between(0, 3000), now, 0};
      const int stopped = xd_network_run(bench.network, &run);
      if (stopped < 0) fail("a run is refused");
      if (run.now_ps < now || run.now_ps > run.until_ps) fail("time is out of its range");
      now = run.now_ps;
      // Time goes on where no edge was left.
      if (stopped == 0 && run.edges == 0) now = run.until_ps;
      edges += run.edges;
      for (size_t at = 0; at < index.size(); at++) sinks[index[at]] = named[at];
      for (xd_source& source : sources)
        for (const xd_source& it : offering)
          if (it.port == source.port) source = it;
      take();
    }
  }
};

uint64_t number(int count, char** words, const char* name, uint64_t otherwise) {
  for (int i = 1; i + 1 < count; i += 2)
    if (std::string(words[i]) == name) return std::strtoull(words[i + 1], nullptr, 0);
  return otherwise;
}

uint64_t read(xd_network* network, uint32_t address) {
  uint64_t value = 0;
  if (xd_network_read(network, address, &value) != 0) fail("register %x is not there", address);
  return value;
}

void write(xd_network* network, uint32_t address, uint64_t value) {
  if (xd_network_write(network, address, value) != 0) fail("register %x is refused", address);
  if (read(network, address) != value) fail("register %x does not hold its value", address);
}

void fixed_registers(xd_network* network) {
  uint64_t value = 0;
  if (read(network, 0) != 0x58444e4554000001ull) fail("register 0 is %llx",
                                                      (unsigned long long)read(network, 0));
  if (read(network, 8) == 0) fail("no identity");
  if (xd_network_read(network, 4, &value) != -1) fail("an odd address is read");
  if (xd_network_write(network, 0, 1) != -1) fail("a read-only register is written");
  if (xd_network_read(network, 0xfffffff8u, &value) != -1) fail("a register that is not there");
}

// The registers of one name, and what the host does with them.
struct Host {
  Bench& bench;

  template <class Each>
  void each(const char* begin, const char* end, bool written, Each each) {
    for (const HostRegister& it : host_registers) {
      const std::string port = it.port;
      const size_t fixed = std::strlen(begin) + std::strlen(end);
      if (it.written != written || port.size() < fixed || port.rfind(begin, 0) != 0) continue;
      if (port.compare(port.size() - std::strlen(end), std::string::npos, end) != 0) continue;
      each(it, port.substr(std::strlen(begin), port.size() - fixed));
    }
  }

  std::vector<End*> ends_of(const char* topic, bool publishing) {
    std::vector<End*> some;
    for (End& end : bench.ends)
      if (end.port->publishes == publishing && !std::strcmp(end.port->topic, topic))
        some.push_back(&end);
    return some;
  }

  uint32_t clock_of(const HostRegister& of) {
    for (uint32_t clock = 0; clock < xd_network_clock_count(); clock++)
      if (!std::strcmp(xd_network_clock_name(clock), of.clock)) return clock;
    fail("%s: no clock %s", of.port, of.clock);
  }

  // All counts of all probes from here on. Nothing is under way.
  void clear() {
    each("probe_", "_set", true, [&](const HostRegister& set, const std::string&) {
      write(bench.network, set.address, 1);
    });
    for (uint64_t& edges : bench.clock_edges) edges = 0;
    bench.edge(bench.all_clocks());
    each("probe_", "_set", true, [&](const HostRegister& set, const std::string&) {
      write(bench.network, set.address, 0);
    });
    for (End& end : bench.ends) {
      end.passed.clear();
      end.beats = end.due = 0;
    }
  }

  // What the probes have counted since then is what has passed. Nothing is under way.
  void probes() {
    each("probe_", "_set", true, [&](const HostRegister& set, const std::string& name) {
      const uint64_t cycles = bench.clock_edges[clock_of(set)];
      write(bench.network, set.address, 2);
      bench.edge(bench.all_clocks());
      uint64_t found[6];
      for (uint64_t count = 0; count < 6; count++) {
        write(bench.network, set.address, count << 2);
        bench.edge(bench.all_clocks());
        const auto answer = [&](const HostRegister& value, const std::string& rest) {
          if (rest.empty() && !std::strcmp(value.topic, set.topic))
            found[count] = read(bench.network, value.address);
        };
        each(("probe_" + name + "_count").c_str(), "", false, answer);
      }
      uint64_t messages = 0, beats = 0;
      if (name == "topic") {
        for (const End* from : ends_of(set.topic, true))
          for (const size_t bytes : from->passed) {
            messages += 1;
            beats += (bytes + width_of(set.topic) - 1) / width_of(set.topic);
          }
      } else {
        for (const End& end : bench.ends)
          if (name == end.port->name) messages = end.passed.size(), beats = end.beats;
      }
      const uint64_t wanted[6] = {messages, beats, found[2], found[3], 0, cycles};
      for (int count = 0; count < 6; count++)
        if (found[count] != wanted[count])
          fail("%s %s: count %d is %llu, not %llu", set.topic, set.port, count,
               (unsigned long long)found[count], (unsigned long long)wanted[count]);
      if (found[1] + found[2] + found[3] > cycles) fail("%s: more than all cycles", set.port);
      probed += 1;
    });
  }

  static size_t width_of(const char* topic) {
    for (const TopicWidth& it : topic_widths)
      if (!std::strcmp(it.topic, topic)) return it.bytes;
    fail("%s: no width", topic);
  }

  // Of all that was sent since the reset nothing was wrong, and a keep-last FIFO has dropped what
  // has not come out. Nothing is under way, and nothing was cleared since the reset.
  void counts() {
    const auto none = [&](const HostRegister& it, const std::string& rest) {
      const uint64_t found = read(bench.network, it.address);
      if (rest.empty() && found != 0)
        fail("%s: %s is %llx", it.topic, it.port, (unsigned long long)found);
    };
    each("counts", "", false, none);
    each("dead", "", false, none);
    each("fifo_", "", false, [&](const HostRegister& it, const std::string& index) {
      const End& to = *ends_of(it.topic, false).at(std::stoul(index));
      const uint64_t found = read(bench.network, it.address);
      const uint64_t dropped = std::min<uint64_t>(to.due - to.passed.size(), 0xffff);
      if (found != dropped) fail("%s: %s is %llx, not %llx", it.topic, it.port,
                                 (unsigned long long)found, (unsigned long long)dropped);
    });
  }

  // New random bits of every topic that can be switched; true if there is one. Between messages it
  // is known who gets what; in mid-message all subscribers of these topics may miss some.
  bool switch_some(bool between) {
    bool any = false;
    each("enable", "", true, [&](const HostRegister& it, const std::string& rest) {
      if (!rest.empty()) return;
      any = true;
      const uint64_t bits = bench.random.next() & ((~0ull) >> (64 - it.bits));
      write(bench.network, it.address, bits);
      const std::vector<End*> subscribers = ends_of(it.topic, false);
      for (size_t i = 0; i < subscribers.size(); i++) {
        subscribers[i]->enabled = bits >> i & 1;
        subscribers[i]->switched = !between;
      }
    });
    return any;
  }

  uint64_t probed = 0;
};

void send_some(Bench& bench, uint64_t messages) {
  for (End& end : bench.ends)
    for (uint32_t i = 0; end.port->publishes && i < messages; i++) {
      const uint32_t longest = std::min(payload_bytes_max, end.port->payload_bytes_max);
      bench.send(end, i, uint32_t(bench.random.between(0, longest)));
    }
}

// Subscribers are switched on and off: between messages, where it is known who gets which, and in
// mid-message, where who is switched may miss some and never gets a part of one.
uint64_t switched(Bench& bench, Host& host) {
  uint64_t rounds = 0;
  for (; rounds < 6 && host.switch_some(true); rounds++) {
    host.clear();
    const bool in_message = rounds % 2 == 1;
    if (in_message) host.switch_some(false);
    send_some(bench, 8);
    for (int i = 0; in_message && i < 8; i++) {
      for (uint64_t steps = bench.random.between(1, 60); steps > 0; steps--) bench.step();
      host.switch_some(false);
    }
    bench.finish(2000000);
    bench.settle();
    for (End& end : bench.ends)
      for (auto& queue : end.expected) queue.clear();
    host.probes();
  }
  return rounds;
}

}  // namespace

int main(int count, char** words) {
  seed = number(count, words, "--seed", 1);
  const uint64_t messages = number(count, words, "--messages", 40);
  {
    Bench bench(seed, true);
    Host host{bench};
    fixed_registers(bench.network);
    host.clear();
    send_some(bench, messages);
    bench.finish(2000000);
    // What is still inside comes out now, and nothing else.
    bench.settle();
    host.probes();
    host.counts();
    std::printf("switched=%llu\n", (unsigned long long)switched(bench, host));
    std::printf("probed=%llu\n", (unsigned long long)host.probed);
    // Reset in the middle: nothing of before comes after it, and everybody is on again.
    for (End& end : bench.ends)
      if (end.port->publishes) bench.send(end, 0, std::min(64u, end.port->payload_bytes_max));
    for (int i = 0; i < 7; i++) bench.step();
    xd_network_reset(bench.network);
    for (End& end : bench.ends) {
      end.sending.clear();
      end.receiving.clear();
      end.at = 0;
      end.enabled = true;
      end.switched = false;
      for (auto& queue : end.expected) queue.clear();
    }
    for (End& end : bench.ends)
      if (end.port->publishes) bench.send(end, 1, std::min(64u, end.port->payload_bytes_max));
    bench.finish(100000);
  }
  Runner(seed).go(messages / 2);
  Bench bench(seed, false);
  for (const End& first : bench.ends) {
    const bool seen = [&] {
      for (const End& other : bench.ends)
        if (other.index < first.index && !std::strcmp(other.port->topic, first.port->topic))
          return true;
      return false;
    }();
    if (seen) continue;
    for (End& end : bench.ends)
      if (end.port->publishes && !std::strcmp(end.port->topic, first.port->topic))
        bench.send(end, 0, end.port->payload_bytes_max);
    const uint64_t begin = edges;
    bench.finish(10000000);
    std::printf("cycles %s=%llu\n", first.port->topic, (unsigned long long)(edges - begin));
  }
}
