// Adapters of one message type, both directions, and its C++ struct: the same messages have the same
// bytes and values in all of them. Frames that are no message are refused by all of them, and nothing
// hangs.
//
// `vectors.hpp` holds the frames and the values that are in them, `ports.hpp` what the ports are
// called; both are made by the test. The model holds both adapters, with ports t_* and p_*, and _X_
// in the place of double underscores, which Verilator spells otherwise.
#include "axis.hpp"
#include "message_t.hpp"

#include <map>
#include <type_traits>

// A value as the payload has it: kind 0 a number, 1 a length, 2 the data of a sequence.
struct Value {
  unsigned field, kind;
  std::vector<uint8_t> bytes;
  bool item;  // inside arrays or sequences of messages or texts
  bool operator==(const Value& other) const {
    return field == other.field && kind == other.kind && bytes == other.bytes;
  }
};

struct Vector {
  tb::Message frame;
  bool right;
  std::vector<Value> values;  // of right ones
  std::vector<uint8_t> clean;  // the same frame with zeros for padding
};

#include "ports.hpp"
#include "vectors.hpp"

#include <sstream>

namespace {

constexpr size_t width_bytes = P_WIDTH / 8;
// More cycles than any message takes with all its stalls.
constexpr uint64_t patience = 400000;

std::vector<uint8_t> bytes_of_hex(const std::string& text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::vector<Vector> read_vectors() {
  std::vector<Vector> vectors;
  std::istringstream lines(vectors_text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, hex;
    words >> kind;
    if (kind == "M") {
      Vector vector{};
      words >> hex >> vector.frame.damaged >> vector.right;
      vector.frame.bytes = bytes_of_hex(hex);
      vectors.push_back(vector);
    } else if (kind == "V") {
      Value value{};
      words >> value.field >> value.kind >> value.item >> hex;
      value.bytes = bytes_of_hex(hex);
      vectors.back().values.push_back(value);
    } else {
      words >> hex;
      vectors.back().clean = bytes_of_hex(hex);
    }
  }
  return vectors;
}

const std::vector<Vector> vectors = read_vectors();

uint32_t number(const std::vector<uint8_t>& bytes) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data(), std::min<size_t>(4, bytes.size()));
  return value;
}

void compare(const char* what, size_t index, const std::vector<Value>& found,
             const std::vector<Value>& wanted) {
  for (size_t i = 0; i < std::max(found.size(), wanted.size()); i++) {
    if (i < found.size() && i < wanted.size() && found[i] == wanted[i]) continue;
    const Value none{4095, 9, {}, false};
    const Value& a = i < found.size() ? found[i] : none;
    const Value& b = i < wanted.size() ? wanted[i] : none;
    tb::fail("%s, message %zu, value %zu: field %u kind %u (%zu bytes, %08x) instead of field %u kind "
             "%u (%zu bytes, %08x)", what, index, i, a.field, a.kind, a.bytes.size(), number(a.bytes),
             b.field, b.kind, b.bytes.size(), number(b.bytes));
  }
}

// C++ ---------------------------------------------------------------------------------------------

// Visits a message to list its values.
struct Lister {
  std::vector<Value> values;
  void add(unsigned field, unsigned kind, const void* from, size_t count) {
    const uint8_t* bytes = static_cast<const uint8_t*>(from);
    values.push_back({field, kind, std::vector<uint8_t>(bytes, bytes + count), false});
  }
  void align(uint32_t) {}
  template <class T>
  void number(unsigned field, const T& value) { add(field, 0, &value, sizeof(T)); }
  template <class T, size_t N>
  void array(unsigned field, const T (&all)[N]) {
    for (const T& value : all) number(field, value);
  }
  void length(unsigned field, const uint32_t& value, uint32_t) { add(field, 1, &value, 4); }
  template <class T, uint32_t N>
  void data(unsigned field, const xd::sequence<T, N>& value) {
    length(field, value.length, N);
    if (value.length > 0) add(field, 2, value.data, value.length * sizeof(T));
  }
};

void check_software(size_t index) {
  const Vector& vector = vectors[index];
  xd::stream<xd::beat<P_WIDTH>> in, out;
  static message_t message;
  xd::header header;
  if (XD_TRY_TAKE(in, message, header) != xd::fault::nothing) tb::fail("C++: a message of nothing");
  for (const tb::Beat& beat : tb::beats_of(vector.frame, width_bytes)) {
    xd::beat<P_WIDTH> one;
    std::memcpy(one.data, beat.data.data(), width_bytes);
    one.keep = beat.keep;
    one.last = beat.last;
    one.user = beat.user;
    in.write(one);
  }
  const xd::fault fault = XD_TAKE(in, message, header);
  if (!in.empty()) tb::fail("C++, message %zu: not taken to its end", index);
  if ((fault == xd::fault::none) != vector.right)
    tb::fail("C++, message %zu: fault %d", index, static_cast<int>(fault));
  if (!vector.right) return;
  Lister lister;
  message_t::visit(static_cast<const message_t&>(message), lister);
  compare("C++", index, lister.values, vector.values);
  if (index % 2 == 0) XD_PUBLISH(out, message, header);
  else XD_TRY_PUBLISH(out, message, header);
  std::vector<uint8_t> bytes;
  for (xd::beat<P_WIDTH> beat; out.read_nb(beat);) {
    for (unsigned i = 0; i < width_bytes; i++)
      if (beat.keep >> i & 1) bytes.push_back(beat.data[i]);
    if (beat.last != out.empty()) tb::fail("C++, message %zu: wrong end", index);
  }
  if (bytes != vector.clean) tb::fail("C++, message %zu: published otherwise", index);
  if (xd::payload_bytes(message) + 24 != bytes.size()) tb::fail("C++: another length");
}

// Take --------------------------------------------------------------------------------------------

// The low bytes of a port.
template <class Signal>
std::vector<uint8_t> bytes_of(const Signal& signal, size_t from, size_t count) {
  std::vector<uint8_t> bytes(count);
  std::memcpy(bytes.data(), reinterpret_cast<const uint8_t*>(&signal) + from, count);
  return bytes;
}

template <class Signal>
void put(Signal& signal, size_t from, const std::vector<uint8_t>& bytes) {
  if (!bytes.empty())
    std::memcpy(reinterpret_cast<uint8_t*>(&signal) + from, bytes.data(), bytes.size());
}

class Taker {
 public:
  Taker(tb::Bench& bench, unsigned stalls) : bench_(bench), stalls_(stalls) {}

  // Before the edge: who is ready.
  void drive() {
    Vdut& dut = *bench_.dut;
    auto chance = [this] { return !bench_.random.percent(stalls_); };
    (void)chance;
#define DRIVE(field, name, ...) dut.t_##name##_X_tready = chance();
    VALUE_STREAMS(DRIVE) DATA_STREAMS(DRIVE)
#undef DRIVE
#if HAS_ITEMS
    dut.t_items_tready = chance();
#endif
    dut.t_ready = dut.t_valid && chance();
  }

  // After the outputs have settled: true when a message or its failure is over at this edge.
  bool look(size_t index) {
    Vdut& dut = *bench_.dut;
    const Vector& vector = vectors[index];
#define LOOK(field, name, bits, ...)                                                          \
    if (dut.t_##name##_X_tvalid && dut.t_##name##_X_tready) {                                   \
      auto& bytes = streamed_[field];                                                         \
      if (!dut.t_##name##_X_tuser && dut.t_##name##_X_tindex != bytes.size() / (bits / 8))      \
        tb::fail("take: %s, index %u", #name, dut.t_##name##_X_tindex);                        \
      add(bytes, dut.t_##name##_X_tdata, keep_of(dut.t_##name##_X_tkeep));                      \
      if (dut.t_##name##_X_tlast) ends_[field] += 1;                                           \
    }
    VALUE_STREAMS(LOOK) DATA_STREAMS(LOOK)
#undef LOOK
#if HAS_ITEMS
    if (dut.t_items_tvalid && dut.t_items_tready) {
      if (!open_) items_.push_back({dut.t_items_tfield, dut.t_items_tkind, {}, true});
      add(items_.back().bytes, dut.t_items_tdata, keep_of(dut.t_items_tkeep));
      open_ = !dut.t_items_tlast;
    }
#endif
    if (dut.t_failed) {
      if (vector.right) tb::fail("take: message %zu refused, fault %u", index, dut.t_fault);
      clear();
      return true;
    }
    if (!dut.t_valid) return false;
    if (!vector.right) tb::fail("take: message %zu is not refused", index);
    if (!dut.t_ready) return false;
    check(index);
    clear();
    return true;
  }

 private:
  template <class Signal>
  static uint64_t keep_of(const Signal& signal) {
    uint64_t keep = 0;
    std::memcpy(&keep, &signal, width_bytes / 8);
    return keep;
  }
  template <class Signal>
  void add(std::vector<uint8_t>& bytes, const Signal& data, uint64_t keep) {
    size_t count = 0;
    while (count < width_bytes && (keep >> count & 1)) count += 1;
    const std::vector<uint8_t> more = bytes_of(data, 0, count);
    bytes.insert(bytes.end(), more.begin(), more.end());
  }

  void check(size_t index) {
    Vdut& dut = *bench_.dut;
    const Vector& vector = vectors[index];
    const uint8_t* head = vector.frame.bytes.data();
    if (std::memcmp(&dut.t_header_publisher_id, head + 2, 2) ||
        std::memcmp(&dut.t_header_payload_bytes, head + 4, 4) ||
        std::memcmp(&dut.t_header_sequence, head + 8, 4) ||
        std::memcmp(&dut.t_header_stamp, head + 16, 8))
      tb::fail("take: message %zu, header", index);
    std::map<unsigned, std::vector<Value>> found;
    auto value = [&found](unsigned field, unsigned kind, std::vector<uint8_t> bytes) {
      found[field].push_back({field, kind, std::move(bytes), false});
    };
    (void)value;
#define VALUES_OF(field, name, bits, count)                             \
    for (size_t i = 0; i < count; i++)                                  \
      value(field, 0, bytes_of(dut.t_##name, i * bits / 8, bits / 8));
    VALUES(VALUES_OF)
#undef VALUES_OF
#define BOUNDED_OF(field, name, bits, bound)                                              \
    value(field, 1, bytes_of(dut.t_##name##_X_length, 0, 4));                              \
    if (dut.t_##name##_X_length > 0)                                                       \
      value(field, 2, bytes_of(dut.t_##name, 0, dut.t_##name##_X_length * bits / 8));
    BOUNDED(BOUNDED_OF)
#undef BOUNDED_OF
#define DATA_OF(field, name, bits)                                                        \
    value(field, 1, bytes_of(dut.t_##name##_X_length, 0, 4));                              \
    if (ends_[field] != (dut.t_##name##_X_length > 0)) tb::fail("take: %s, ends", #name);  \
    if (dut.t_##name##_X_length > 0) value(field, 2, streamed_[field]);
    DATA_STREAMS(DATA_OF)
#undef DATA_OF
#define STREAM_OF(field, name, bits, count)                                               \
    for (size_t i = 0; i < count; i++) {                                                  \
      const size_t from = i * bits / 8;                                                   \
      if (streamed_[field].size() < from + bits / 8) tb::fail("take: %s, short", #name);  \
      const uint8_t* at = streamed_[field].data() + from;                                 \
      value(field, 0, std::vector<uint8_t>(at, at + bits / 8));                           \
    }                                                                                     \
    if (ends_[field] != 1) tb::fail("take: %s, ends", #name);
    VALUE_STREAMS(STREAM_OF)
#undef STREAM_OF
    std::vector<Value> all, items;
    for (const auto& [field, values] : found) all.insert(all.end(), values.begin(), values.end());
    std::vector<Value> wanted;
    for (const Value& one : vector.values) (one.item ? items : wanted).push_back(one);
    compare("take", index, all, wanted);
    compare("take, items", index, items_, items);
#define PARSED(field, name, ...)                                                   \
    if (!tb::Bit(dut.t_parsed, field).get()) tb::fail("take: %s, parsed", #name);
    VALUES(PARSED) BOUNDED(PARSED)
#undef PARSED
  }

  void clear() {
    streamed_.clear();
    ends_.clear();
    items_.clear();
    open_ = false;
  }

  tb::Bench& bench_;
  unsigned stalls_;
  std::map<unsigned, std::vector<uint8_t>> streamed_;
  std::map<unsigned, unsigned> ends_;
  std::vector<Value> items_;
  bool open_ = false;
};

// Publish -----------------------------------------------------------------------------------------

class Giver {
 public:
  Giver(tb::Bench& bench, unsigned stalls) : bench_(bench), stalls_(stalls) {}

  // Puts a message onto the ports. `wrong`: one field has a length above its bound, or the payload
  // another length.
  void offer(size_t index, bool wrong) {
    Vdut& dut = *bench_.dut;
    const Vector& vector = vectors[index];
    const uint8_t* head = vector.frame.bytes.data();
    std::memcpy(&dut.p_header_publisher_id, head + 2, 2);
    std::memcpy(&dut.p_header_sequence, head + 8, 4);
    std::memcpy(&dut.p_header_stamp, head + 16, 8);
#if !MEASURED
    std::memcpy(&dut.p_payload_bytes, head + 4, 4);
    if (wrong) dut.p_payload_bytes += 8;
#endif
    given_.clear();
    items_.clear();
    std::map<unsigned, size_t> seen;
    for (const Value& value : vector.values) {
      if (value.item) {
        items_.push_back(value);
        continue;
      }
      (void)seen;
#define PUT(port, name, bits, ...)                                            \
      if (value.field == port) {                                              \
        put(dut.p_##name, seen[port], value.bytes);                           \
        seen[port] += value.bytes.size();                                     \
      }
      VALUES(PUT)
#undef PUT
#define PUT(port, name, bits, bound)                                                \
      if (value.field == port && value.kind == 1)                                   \
        dut.p_##name##_X_length = wrong ? (bound) + 1 : number(value.bytes);         \
      if (value.field == port && value.kind == 2) put(dut.p_##name, 0, value.bytes);
      BOUNDED(PUT)
#undef PUT
#define PUT(port, name, bits)                                                       \
      if (value.field == port && value.kind == 1)                                   \
        dut.p_##name##_X_length = wrong ? 0xffffffff : number(value.bytes);
      DATA_STREAMS(PUT)
#undef PUT
      if (value.kind == 2) chop(value);
      else if (value.kind == 0) given_[value.field].push_back(value.bytes);
    }
    dut.p_valid = 1;
  }

  void drive() {
    Vdut& dut = *bench_.dut;
    bench_.settle();
#define DRIVE(field, name, ...)                                                     \
    {                                                                               \
      auto& queue = given_[field];                                                  \
      if (!queue.empty() && !standing_[field])                                      \
        standing_[field] = !bench_.random.percent(stalls_);                         \
      dut.p_##name##_X_tvalid = !queue.empty() && standing_[field];                  \
      if (dut.p_##name##_X_tvalid) put(dut.p_##name##_X_tdata, 0, queue.front());     \
    }
    VALUE_STREAMS(DRIVE) DATA_STREAMS(DRIVE)
#undef DRIVE
#if HAS_ITEMS
    dut.p_items_tvalid = 0;
    if (dut.p_items_ask) {
      if (items_.empty()) tb::fail("publish: asked for an item that is not there");
      const Value& value = items_.front();
      if (dut.p_items_tfield != value.field || dut.p_items_tkind != value.kind)
        tb::fail("publish: asked for field %u kind %u instead of field %u kind %u",
                 dut.p_items_tfield, dut.p_items_tkind, value.field, value.kind);
      dut.p_items_tvalid = !bench_.random.percent(stalls_);
      std::vector<uint8_t> part(value.bytes.begin() + at_, value.bytes.end());
      if (part.size() > width_bytes) part.resize(width_bytes);
      if (part.size() != dut.p_items_tbytes) tb::fail("publish: wants %u bytes", dut.p_items_tbytes);
      part.resize(width_bytes, 0xbb);
      put(dut.p_items_tdata, 0, part);
    }
#endif
  }

  void sample() {
    Vdut& dut = *bench_.dut;
    (void)dut;
#define SAMPLE(field, name, ...)                                         \
    if (dut.p_##name##_X_tvalid && dut.p_##name##_X_tready) {              \
      given_[field].pop_front();                                         \
      standing_[field] = false;                                          \
    }
    VALUE_STREAMS(SAMPLE) DATA_STREAMS(SAMPLE)
#undef SAMPLE
#if HAS_ITEMS
    if (dut.p_items_tvalid && dut.p_items_tready) {
      at_ += width_bytes;
      if (at_ >= items_.front().bytes.size()) {
        items_.pop_front();
        at_ = 0;
      }
    }
#endif
  }

 private:
  // Data in beats; what stands behind the last byte must not matter.
  void chop(const Value& value) {
    for (size_t at = 0; at < value.bytes.size(); at += width_bytes) {
      const size_t end = std::min(at + width_bytes, value.bytes.size());
      std::vector<uint8_t> beat(value.bytes.begin() + at, value.bytes.begin() + end);
      beat.resize(width_bytes, 0xbb);
      given_[value.field].push_back(beat);
    }
  }

  tb::Bench& bench_;
  unsigned stalls_;
  std::map<unsigned, std::deque<std::vector<uint8_t>>> given_;
  std::map<unsigned, bool> standing_;
  std::deque<Value> items_;
  size_t at_ = 0;
};

// All -----------------------------------------------------------------------------------------------

// Takes and publishes all messages, both at the same time.
void run(tb::Bench& bench, unsigned stalls) {
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> sources;
  sources.emplace_back(AXIS_LANE(dut, t_s_axis, 0, width_bytes), tb::Stalls(stalls, 5));
  std::deque<tb::Message> expected;
  uint64_t published = 0, beats = 0;
  bool damaged = false;
  std::vector<tb::Sink> sinks;
  sinks.emplace_back("published", AXIS_LANE(dut, p_m_axis, 0, width_bytes), tb::Stalls(stalls, 5),
                     [&](const tb::Message& found) {
                       published += 1;
                       damaged = found.damaged;
                       if (found.damaged) return;
                       tb::expect_next("published", expected, found);
                       // No beat without a byte.
                       if (sinks[0].beats - beats != found.beats(width_bytes))
                         tb::fail("published: %llu beats", (unsigned long long)(sinks[0].beats - beats));
                     });
  Taker taker(bench, stalls);
  Giver giver(bench, stalls);
  dut.p_valid = 0;
  dut.t_ready = 0;
  tb::reset(bench, sources, sinks);
  for (const Vector& vector : vectors) sources[0].send(vector.frame);
  size_t taken = 0, given = 0;
  bool wrong = false, offered = false;
  uint64_t since = bench.cycle, take_since = bench.cycle;
  while (taken < vectors.size() || given < vectors.size()) {
    while (given < vectors.size() && !vectors[given].right) given += 1;
    dut.clk = 0;
    if (!offered && given < vectors.size()) {
      giver.offer(given, wrong);
      if (!wrong) expected.push_back({vectors[given].clean, false});
      offered = true;
      published = 0;
      beats = sinks[0].beats;
    }
    for (tb::Source& source : sources) source.drive(bench.random);
    for (tb::Sink& sink : sinks) sink.drive(bench.random);
    bench.settle();
    taker.drive();
    giver.drive();
    bench.settle();
    bench.record();
    for (tb::Source& source : sources) source.sample();
    for (tb::Sink& sink : sinks) sink.sample();
    giver.sample();
    const bool over = taken < vectors.size() && taker.look(taken);
    if (over) {
      if (taken == 0 && stalls == 0) tb::report("take_cycles", bench.cycle - take_since);
      taken += 1;
      since = bench.cycle;
    }
    const bool done = dut.p_ready;
    if (done) {
      if (dut.p_failed != wrong) tb::fail("publish: message %zu, failed %d", given, dut.p_failed);
      // What cannot be measured is sent, and marked at its end.
      if (wrong && published != !MEASURED) tb::fail("publish: %llu frames", (unsigned long long)published);
      if (wrong && published && !damaged) tb::fail("publish: not marked");
      if (!wrong && published != 1) tb::fail("publish: ready before the last beat");
      if (given == 0 && stalls == 0) tb::report("publish_cycles", bench.cycle - take_since);
      given += 1;
      // Every third message is offered a second time with something wrong about it.
      if (CAN_FAIL && given % 3 == 0 && !wrong) {
        given -= 1;
        wrong = true;
      } else {
        wrong = false;
      }
      offered = false;
      since = bench.cycle;
    }
    dut.clk = 1;
    bench.settle();
    bench.record();
    bench.cycle += 1;
    if (done) dut.p_valid = 0;
    if (bench.cycle - since > patience) tb::fail("hangs: %zu taken, %zu given", taken, given);
  }
  if (!expected.empty()) tb::fail("publish: messages are missing");
}

}  // namespace

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  for (size_t i = 0; i < vectors.size(); i++) check_software(i);
  run(bench, 0);
  run(bench, 30);
  tb::report("messages", vectors.size());
  return 0;
}
