// Testbench of generated networks, any of them: it sees a network through its C interface only.
// Every subscriber gets every message of its topic once, whole, in order per publisher, while
// publishers, subscribers and clocks pause at random; and without pauses, how many cycles each topic
// takes for one longest message of every publisher.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "network.h"
#include "random.hpp"

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
};

struct Bench {
  xd_network* network;
  Random random;
  std::vector<End> ends;
  bool stalls;

  Bench(uint64_t with, bool stalls)
      : network(xd_network_new(uint32_t(with))), random{with}, stalls(stalls) {
    for (uint32_t i = 0; i < xd_network_port_count(); i++)
      ends.push_back({i, xd_network_port(i), {}, 0, {}, {}, 0});
    for (End& end : ends) end.expected.resize(ends.size());
  }
  ~Bench() { xd_network_delete(network); }

  void send(End& from, uint32_t sequence, uint32_t payload) {
    const Bytes bytes = message(random, from.port->publisher_id, sequence, payload);
    from.sending.push_back(bytes);
    for (End& to : ends) {
      if (to.port->publishes || std::strcmp(to.port->topic, from.port->topic) != 0) continue;
      if (to.port->filtered_id == from.port->publisher_id) continue;
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
    end.at += count;
    if (!beat.last) return;
    end.sending.pop_front();
    end.at = 0;
  }

  void pop(End& end) {
    if (paused(end)) return;
    xd_beat beat;
    if (xd_network_pop(network, end.index, &beat) != 1) return;
    size_t count = end.port->width_bytes;
    if (beat.last)
      for (count = 0; count < end.port->width_bytes && (beat.keep >> count & 1);) count += 1;
    end.receiving.insert(end.receiving.end(), beat.data, beat.data + count);
    if (!beat.last) return;
    if (beat.user) fail("%s: a damaged message", end.port->name);
    take(end);
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
      while (!queue.empty() && queue.front() != end.receiving && end.port->keep_last)
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
        if (!queue.empty() && !end.port->keep_last) return true;
    }
    return false;
  }

  void step() {
    for (End& end : ends)
      if (end.port->publishes) push(end);
    const uint32_t clocks = xd_network_clock_count();
    const uint64_t all = clocks == 64 ? ~0ull : (1ull << clocks) - 1;
    uint64_t mask = all;
    while (stalls && (mask = random.next() & all) == 0) {
    }
    if (xd_network_edge(network, mask) != 0) fail("the clocks are refused");
    edges += 1;
    for (End& end : ends)
      if (!end.port->publishes) pop(end);
  }

  void finish(uint64_t bound) {
    for (uint64_t i = 0; pending(); i++) {
      if (i == bound) fail("messages did not arrive");
      step();
    }
  }
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

void registers(xd_network* network) {
  uint64_t value = 0;
  if (xd_network_read(network, 0, &value) != 0 || value != 0x58444e4554000001ull)
    fail("register 0 is %llx", (unsigned long long)value);
  if (xd_network_read(network, 8, &value) != 0 || value == 0) fail("no identity");
  if (xd_network_read(network, 4, &value) != -1) fail("an odd address is read");
  if (xd_network_write(network, 0, 1) != -1) fail("a read-only register is written");
  if (xd_network_read(network, 0xfffffff8u, &value) != -1) fail("a register that is not there");
}

}  // namespace

int main(int count, char** words) {
  seed = number(count, words, "--seed", 1);
  const uint64_t messages = number(count, words, "--messages", 40);
  {
    Bench bench(seed, true);
    registers(bench.network);
    for (End& end : bench.ends)
      for (uint32_t i = 0; end.port->publishes && i < messages; i++) {
        const uint32_t longest = std::min(payload_bytes_max, end.port->payload_bytes_max);
        bench.send(end, i, uint32_t(bench.random.between(0, longest)));
      }
    bench.finish(2000000);
    // What is still inside comes out now, and nothing else.
    for (int i = 0; i < 2000; i++) bench.step();
    // Reset in the middle: nothing of before comes after it.
    for (End& end : bench.ends)
      if (end.port->publishes) bench.send(end, 0, std::min(64u, end.port->payload_bytes_max));
    for (int i = 0; i < 7; i++) bench.step();
    xd_network_reset(bench.network);
    for (End& end : bench.ends) {
      end.sending.clear();
      end.receiving.clear();
      end.at = 0;
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
