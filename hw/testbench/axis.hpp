// What the testbenches of AXI-stream modules share: seeded chance, frames, sources and sinks with
// random stalls, the rules of the protocol, waves. It must not know any module; the reference model
// of a module is in that module's testbench.
//
// A testbench is built together with Verilator's model, class Vdut, whose parameters it sees as
// macros P_<NAME>. It ends with 0, or says what is wrong on its error output and ends with 1.
#pragma once

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "Vdut.h"
#include "random.hpp"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace tb {

// Bytes of the frame's header.
constexpr size_t header_bytes = 24;

// The command line: --seed N, --waves FILE, and numbers that the testbench asks for by name.
class Options {
 public:
  Options(int count, char** words) {
    for (int i = 1; i + 1 < count; i += 2) words_.emplace_back(words[i], words[i + 1]);
  }
  std::string text(const std::string& name) const {
    for (const auto& [key, value] : words_)
      if (key == "--" + name) return value;
    return {};
  }
  uint64_t number(const std::string& name, uint64_t otherwise) const {
    const std::string value = text(name);
    return value.empty() ? otherwise : std::strtoull(value.c_str(), nullptr, 0);
  }

 private:
  std::vector<std::pair<std::string, std::string>> words_;
};

// A model with its clock `clk` and reset `rst`. A testbench with more clocks toggles them itself.
class Bench {
 public:
  explicit Bench(const Options& options) : seed(options.number("seed", 1)), random(seed) {
    instance() = this;
    context.randSeed(static_cast<int>(seed & 0x7fffffff) | 1);
    context.randReset(2);
#if VM_TRACE
    context.traceEverOn(true);
#endif
    dut = std::make_unique<Vdut>(&context);
#if VM_TRACE
    if (const std::string path = options.text("waves"); !path.empty()) {
      dut->trace(&waves_, 99);
      waves_.open(path.c_str());
    }
#endif
  }
  ~Bench() {
    dut->final();
    close();
    instance() = nullptr;
  }

  // Settles the outputs for the inputs as they are now.
  void settle() { dut->eval(); }

  // Remembers the settled state in the waves.
  void record() {
#if VM_TRACE
    if (waves_.isOpen()) waves_.dump(time_++);
#endif
  }

  void close() {
#if VM_TRACE
    if (waves_.isOpen()) waves_.close();
#endif
  }

  const uint64_t seed;
  Random random;
  uint64_t cycle = 0;
  VerilatedContext context;
  std::unique_ptr<Vdut> dut;

  static Bench*& instance() {
    static Bench* bench = nullptr;
    return bench;
  }

 private:
#if VM_TRACE
  VerilatedVcdC waves_;
  uint64_t time_ = 0;
#endif
};

// Says what is wrong, with the seed that reproduces it, and ends the simulation.
[[noreturn]] inline void fail(const char* format, ...) {
  Bench* bench = Bench::instance();
  if (bench != nullptr) {
    std::fprintf(stderr, "seed %llu, cycle %llu: ", (unsigned long long)bench->seed,
                 (unsigned long long)bench->cycle);
    bench->close();
  }
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::fflush(nullptr);
  std::_Exit(1);
}

// A measured value, for the test that started the simulation.
inline void report(const char* name, uint64_t value) {
  std::printf("%s=%llu\n", name, (unsigned long long)value);
}

// One beat; `keep` has one bit per byte, lowest byte first.
struct Beat {
  std::array<uint8_t, 64> data{};
  uint64_t keep = 0;
  bool last = false;
  bool user = false;
  bool operator==(const Beat& other) const {
    return data == other.data && keep == other.keep && last == other.last && user == other.user;
  }
};

// A message as a byte sequence; `damaged` is what tuser says with the last beat.
struct Message {
  std::vector<uint8_t> bytes;
  bool damaged = false;
  bool operator==(const Message& other) const {
    return bytes == other.bytes && damaged == other.damaged;
  }
  uint16_t publisher() const { return static_cast<uint16_t>(bytes[2] | bytes[3] << 8); }
  size_t beats(size_t width_bytes) const { return (bytes.size() + width_bytes - 1) / width_bytes; }
};

// A frame whose header announces `announced` payload bytes and that has `actual` ones.
inline Message frame(Random& random, uint16_t publisher, uint32_t sequence, size_t announced,
                     size_t actual) {
  Message message;
  message.bytes.resize(header_bytes + actual);
  for (auto& byte : message.bytes) byte = static_cast<uint8_t>(random.next());
  uint8_t* b = message.bytes.data();
  b[0] = 1;
  b[1] = 0;
  const uint32_t size = static_cast<uint32_t>(announced);
  std::memcpy(b + 2, &publisher, 2);
  std::memcpy(b + 4, &size, 4);
  std::memcpy(b + 8, &sequence, 4);
  std::memset(b + 12, 0, 4);
  return message;
}

inline Message frame(Random& random, uint16_t publisher, uint32_t sequence, size_t payload) {
  return frame(random, publisher, sequence, payload, payload);
}

inline std::vector<Beat> beats_of(const Message& message, size_t width_bytes) {
  std::vector<Beat> beats;
  for (size_t at = 0; at < message.bytes.size(); at += width_bytes) {
    Beat beat;
    const size_t n = std::min(width_bytes, message.bytes.size() - at);
    std::memcpy(beat.data.data(), message.bytes.data() + at, n);
    beat.keep = n == 64 ? ~0ull : (1ull << n) - 1;
    beat.last = at + n == message.bytes.size();
    beat.user = beat.last && message.damaged;
    beats.push_back(beat);
  }
  return beats;
}

// One bit of a port, whatever type Verilator gave the port.
class Bit {
 public:
  template <class Port>
  Bit(Port& port, size_t index)
      : byte_(reinterpret_cast<uint8_t*>(&port) + index / 8), shift_(index % 8) {}
  bool get() const { return (*byte_ >> shift_) & 1; }
  void set(bool value) const {
    *byte_ = static_cast<uint8_t>((*byte_ & ~(1u << shift_)) | (unsigned(value) << shift_));
  }

 private:
  uint8_t* byte_;
  size_t shift_;
};

// The signals of one AXI stream among the lanes of flat ports.
struct Lane {
  uint8_t* data;
  uint8_t* keep;
  Bit last, user, valid, ready;
  size_t width_bytes;
};

// The lane `index` of the ports PREFIX_tdata, ... (payload and handshake lanes may differ: a
// broadcast shares its payload).
#define AXIS_LANE_SHARED(dut, prefix, payload, index, bytes)                        \
  tb::Lane {                                                                        \
    reinterpret_cast<uint8_t*>(&(dut).prefix##_tdata) + (payload) * (bytes),        \
        reinterpret_cast<uint8_t*>(&(dut).prefix##_tkeep) + (payload) * (bytes) / 8, \
        tb::Bit((dut).prefix##_tlast, payload), tb::Bit((dut).prefix##_tuser, payload), \
        tb::Bit((dut).prefix##_tvalid, index), tb::Bit((dut).prefix##_tready, index), bytes \
  }
#define AXIS_LANE(dut, prefix, index, bytes) AXIS_LANE_SHARED(dut, prefix, index, index, bytes)

// When a port pauses: never, or now and then for a random number of cycles.
class Stalls {
 public:
  // `percent` of the cycles begin a pause of 1 to `longest` cycles.
  Stalls(unsigned percent, unsigned longest) : percent_(percent), longest_(longest) {}
  // True while pausing; asked once per cycle in which a pause is possible.
  bool pause(Random& random) {
    if (left_ == 0 && !paused_ && percent_ > 0 && random.percent(percent_))
      left_ = random.between(1, longest_);
    paused_ = left_ > 0;  // two pauses in a row would be one that is too long
    if (paused_) left_ -= 1;
    return paused_;
  }

 private:
  unsigned percent_;
  uint64_t longest_;
  uint64_t left_ = 0;
  bool paused_ = false;
};

// Offers beats on a lane, with pauses, and keeps to the protocol.
class Source {
 public:
  Source(Lane lane, Stalls stalls) : lane_(lane), stalls_(stalls) { lane_.valid.set(false); }

  void send(const Message& message) {
    for (const Beat& beat : beats_of(message, lane_.width_bytes)) send(beat);
  }
  // `silence` cycles pass before the beat is offered, and no random pause.
  void send(const Beat& beat, int64_t silence = -1) { queue_.push_back({beat, silence}); }
  bool empty() const { return queue_.empty(); }
  uint64_t sent() const { return sent_; }

  // Before the clock edge: decides what is offered.
  void drive(Random& random) {
    if (!offering_ && !queue_.empty()) {
      int64_t& silence = queue_.front().silence;
      if (silence > 0) silence -= 1;
      else if (silence == 0 || !stalls_.pause(random)) offering_ = true;
    }
    lane_.valid.set(offering_);
    Beat beat;  // whatever stands on the wires without an offer must not matter
    if (offering_) beat = queue_.front().beat;
    else for (size_t i = 0; i < lane_.width_bytes; i++) beat.data[i] = uint8_t(random.next());
    std::memcpy(lane_.data, beat.data.data(), lane_.width_bytes);
    std::memcpy(lane_.keep, &beat.keep, lane_.width_bytes / 8);
    lane_.last.set(beat.last);
    lane_.user.set(beat.user);
  }

  // After the outputs have settled: true when the beat is taken at this edge.
  bool sample() {
    if (!offering_ || !lane_.ready.get()) return false;
    queue_.pop_front();
    offering_ = false;
    sent_ += 1;
    return true;
  }

  // Forgets everything, for a reset.
  void clear() {
    queue_.clear();
    offering_ = false;
  }

 private:
  struct Item {
    Beat beat;
    int64_t silence;
  };
  Lane lane_;
  Stalls stalls_;
  std::deque<Item> queue_;
  bool offering_ = false;
  uint64_t sent_ = 0;
};

// Takes beats from a lane, with pauses, checks the protocol and hands on whole messages.
class Sink {
 public:
  Sink(std::string name, Lane lane, Stalls stalls, std::function<void(const Message&)> take)
      : name_(std::move(name)), lane_(lane), stalls_(stalls), take_(std::move(take)) {}

  void drive(Random& random) { lane_.ready.set(!stalls_.pause(random)); }

  // After the outputs have settled: true when a beat is taken at this edge.
  bool sample() {
    const bool valid = lane_.valid.get();
    if (waiting_ && !valid) fail("%s: an offer was withdrawn", name_.c_str());
    if (!valid) return false;
    Beat beat;
    std::memcpy(beat.data.data(), lane_.data, lane_.width_bytes);
    std::memcpy(&beat.keep, lane_.keep, lane_.width_bytes / 8);
    beat.last = lane_.last.get();
    beat.user = lane_.user.get();
    if (waiting_ && !(beat == offered_)) fail("%s: an offer changed", name_.c_str());
    offered_ = beat;
    waiting_ = !lane_.ready.get();
    if (waiting_) return false;
    beats += 1;
    add(beat);
    return true;
  }

  void clear() {
    waiting_ = false;
    message_ = {};
  }
  bool inside() const { return !message_.bytes.empty(); }

  uint64_t beats = 0;
  uint64_t messages = 0;

 private:
  void add(const Beat& beat) {
    size_t n = lane_.width_bytes;
    if (beat.last) {
      n = 0;
      while (n < lane_.width_bytes && (beat.keep >> n & 1)) n += 1;
      if (n < 64 && (beat.keep >> n) != 0) fail("%s: tkeep has a gap", name_.c_str());
    } else if (beat.user) {
      fail("%s: tuser without tlast", name_.c_str());
    }
    message_.bytes.insert(message_.bytes.end(), beat.data.begin(), beat.data.begin() + n);
    if (!beat.last) return;
    message_.damaged = beat.user;
    messages += 1;
    const Message whole = std::move(message_);
    message_ = {};
    take_(whole);
  }

  std::string name_;
  Lane lane_;
  Stalls stalls_;
  std::function<void(const Message&)> take_;
  bool waiting_ = false;
  Beat offered_;
  Message message_;
};

// One cycle of a module with one clock: everybody drives, the outputs settle, everybody looks, the
// clock rises. A template, so that a testbench of a model with other clocks can include it.
template <class Model = Vdut>
void step(Bench& bench, std::vector<Source>& sources, std::vector<Sink>& sinks,
                 const std::function<void()>& look = {}) {
  Model& dut = *bench.dut;
  dut.clk = 0;
  for (Source& source : sources) source.drive(bench.random);
  for (Sink& sink : sinks) sink.drive(bench.random);
  bench.settle();
  bench.record();
  for (Source& source : sources) source.sample();
  for (Sink& sink : sinks) sink.sample();
  if (look) look();
  dut.clk = 1;
  bench.settle();
  bench.record();
  bench.cycle += 1;
}

// Four cycles of reset, with nothing offered.
template <class Model = Vdut>
void reset(Bench& bench, std::vector<Source>& sources, std::vector<Sink>& sinks) {
  Model& dut = *bench.dut;
  for (Source& source : sources) source.clear();
  for (Sink& sink : sinks) sink.clear();
  dut.rst = 1;
  for (int i = 0; i < 4; i++) {
    dut.clk = 0;
    for (Source& source : sources) source.drive(bench.random);
    bench.settle();
    bench.record();
    dut.clk = 1;
    bench.settle();
    bench.record();
    bench.cycle += 1;
  }
  dut.rst = 0;
}

// The message that comes next must be the expected one.
inline void expect_next(const char* where, std::deque<Message>& expected, const Message& found) {
  if (expected.empty())
    fail("%s: a message of %zu bytes that nobody sent", where, found.bytes.size());
  const Message& wanted = expected.front();
  if (!(wanted == found)) {
    size_t at = 0;
    const size_t common = std::min(wanted.bytes.size(), found.bytes.size());
    while (at < common && wanted.bytes[at] == found.bytes[at]) at += 1;
    fail("%s: a message of %zu bytes%s instead of %zu bytes%s, first difference at byte %zu", where,
         found.bytes.size(), found.damaged ? " (damaged)" : "", wanted.bytes.size(),
         wanted.damaged ? " (damaged)" : "", at);
  }
  expected.pop_front();
}

}  // namespace tb
