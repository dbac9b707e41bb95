// Messages on AXI streams, for hardware nodes in C++: as high-level synthesis reads it, and as software.
//
//   #include "message_camera_image.hpp"
//
//   void blur(xd::stream<xd::beat<64>>& in, xd::stream<xd::beat<64>>& out) {
//     static message_camera_image image;
//     xd::header header;
//     if (XD_TAKE(in, image, header) == xd::fault::none) XD_PUBLISH(out, image, header);
//   }
//
// XD_TAKE and XD_PUBLISH wait; XD_TRY_TAKE and XD_TRY_PUBLISH come back at once when there is no
// message or no room: xd::fault::nothing. All of them give a fault, and leave the stream at the end of
// the message whatever was in it. A message is a struct with room for all bounds: no memory is
// allocated. It belongs in static memory, large as it may be.
//
// Streams have one reader and one writer. In software these may be threads, and reading and writing
// block; for synthesis define XD_STREAM_HEADER as a header that gives xd::stream with read, read_nb,
// write and write_nb. The machine is little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef XD_STREAM_HEADER
#include XD_STREAM_HEADER
#else
#include <condition_variable>
#include <deque>
#include <mutex>

namespace xd {

// A queue of beats or numbers. Blocking, unless a name ends in _nb.
template <class T>
class stream {
 public:
  // Elements that it holds when nothing else is said.
  static constexpr size_t default_depth = size_t{1} << 20;
  explicit stream(size_t depth = default_depth) : depth_(depth == 0 ? 1 : depth) {}
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  T read() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty(); });
    return pop();
  }
  bool read_nb(T& value) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.empty()) return false;
    value = pop();
    return true;
  }
  void write(const T& value) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return queue_.size() < depth_; });
    push(value);
  }
  bool write_nb(const T& value) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.size() >= depth_) return false;
    push(value);
    return true;
  }
  bool empty() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return queue_.empty();
  }

 private:
  T pop() {
    T value = queue_.front();
    queue_.pop_front();
    changed_.notify_all();
    return value;
  }
  void push(const T& value) {
    queue_.push_back(value);
    changed_.notify_all();
  }

  const size_t depth_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> queue_;
};

}  // namespace xd
#endif

namespace xd {

// A transfer of W bits; `keep` has one bit per byte and is looked at in the last beat only.
template <unsigned W>
struct beat {
  static_assert(W == 64 || W == 128 || W == 256 || W == 512, "64, 128, 256 or 512 bits");
  static constexpr unsigned bytes = W / 8;
  uint8_t data[bytes] = {};
  uint64_t keep = 0;
  bool last = false;
  bool user = false;
};

// What came of a take or publish.
enum class fault {
  none,       // all right
  header,     // another version
  length,     // the header says another length
  too_short,  // the frame ends before the message
  bound,      // a length above its bound
  too_long,   // the message ends before the frame
  damaged,    // the frame is marked as damaged
  nothing,    // no message, no room: only from the non-blocking forms
};

// What stands in front of a message besides its length.
struct header {
  uint16_t publisher_id = 0;
  uint32_t sequence = 0;
  uint64_t stamp_ns = 0;
};

// At most N elements; those from `length` on mean nothing.
template <class T, uint32_t N>
struct sequence {
  static constexpr uint32_t bound = N;
  uint32_t length = 0;
  T data[N == 0 ? 1 : N] = {};
  // Elements that there are, also with a length above the bound.
  uint32_t held() const { return length > N ? N : length; }
};

template <uint32_t N>
using text = sequence<char, N>;
template <uint32_t N>
using wide_text = sequence<char16_t, N>;

namespace detail {

constexpr uint32_t header_bytes = 24;

// The bytes of one frame, from its first beat on.
template <unsigned W>
class source {
 public:
  source(stream<beat<W>>& in, const beat<W>& first) : in_(in), beat_(first) { arrived(); }

  // The next bytes; false when the frame ends before them.
  bool take(void* to, size_t count) {
    uint8_t* place = static_cast<uint8_t*>(to);
    while (count > 0) {
      if (at_ == held_ && !next()) return false;
      size_t part = held_ - at_;
      if (part > count) part = count;
      if (place != nullptr) {
        std::memcpy(place, beat_.data + at_, part);
        place += part;
      }
      at_ += static_cast<unsigned>(part);
      count -= part;
    }
    return true;
  }

  // Goes to the frame's end: whether nothing was left, and whether it was marked as damaged.
  bool finish(bool& damaged) {
    bool clean = at_ == held_;
    while (next()) clean = clean && held_ == 0;
    damaged = beat_.user;
    return clean;
  }

 private:
  bool next() {
    if (beat_.last) {
      at_ = held_;
      return false;
    }
    beat_ = in_.read();
    arrived();
    return true;
  }
  void arrived() {
    at_ = 0;
    held_ = beat<W>::bytes;
    if (beat_.last)
      for (held_ = 0; held_ < beat<W>::bytes && (beat_.keep >> held_ & 1) != 0;) held_ += 1;
  }

  stream<beat<W>>& in_;
  beat<W> beat_;
  unsigned at_ = 0;
  unsigned held_ = 0;
};

// Visits a message to fill it. After a fault every length is 0, so that no loop goes on.
template <unsigned W>
class reader {
 public:
  explicit reader(source<W>& from) : from_(from) {}

  void align(uint32_t alignment) {
    const uint32_t padding = (alignment - position_ % alignment) % alignment;
    take(nullptr, padding);
  }
  template <class T>
  void number(unsigned, T& value) {
    align(sizeof(T));
    take(&value, sizeof(T));
  }
  template <class T, size_t N>
  void array(unsigned, T (&values)[N]) {
    align(sizeof(T));
    take(values, sizeof(values));
  }
  void length(unsigned, uint32_t& value, uint32_t bound) {
    uint32_t found = 0;
    number(0, found);
    if (fault_ == fault::none && found > bound) fault_ = fault::bound;
    align(8);
    value = fault_ == fault::none ? found : 0;
  }
  template <class T, uint32_t N>
  void data(unsigned field, sequence<T, N>& values) {
    length(field, values.length, N);
    take(values.data, size_t{values.length} * sizeof(T));
  }

  uint32_t position() const { return position_; }
  fault found() const { return fault_; }

 private:
  void take(void* to, size_t count) {
    if (fault_ != fault::none) return;
    if (from_.take(to, count)) position_ += static_cast<uint32_t>(count);
    else fault_ = fault::too_short;
  }

  source<W>& from_;
  uint32_t position_ = 0;
  fault fault_ = fault::none;
};

// Visits a message to learn the length of its payload, and whether its lengths keep their bounds.
class counter {
 public:
  void align(uint32_t alignment) { bytes_ = (bytes_ + alignment - 1) / alignment * alignment; }
  template <class T>
  void number(unsigned, const T&) {
    align(sizeof(T));
    bytes_ += sizeof(T);
  }
  template <class T, size_t N>
  void array(unsigned, const T (&)[N]) {
    align(sizeof(T));
    bytes_ += sizeof(T) * N;
  }
  void length(unsigned, const uint32_t& value, uint32_t bound) {
    number(0, value);
    align(8);
    if (value > bound) fits_ = false;
  }
  template <class T, uint32_t N>
  void data(unsigned field, const sequence<T, N>& values) {
    length(field, values.length, N);
    bytes_ += uint64_t{values.length} * sizeof(T);
  }

  uint64_t bytes() const { return bytes_; }
  bool fits() const { return fits_; }

 private:
  uint64_t bytes_ = 0;
  bool fits_ = true;
};

// Visits a message to send it. A beat goes out when the next byte comes, or at the end.
template <unsigned W>
class writer {
 public:
  // `waits`: also the first beat waits for room.
  writer(stream<beat<W>>& out, bool waits) : out_(out), waits_(waits) {}
  // There was room for the first beat; else nothing was sent.
  bool sent() const { return waits_; }

  void put(const void* from, size_t count) {
    const uint8_t* place = static_cast<const uint8_t*>(from);
    while (count > 0) {
      if (at_ == beat<W>::bytes) send(false);
      size_t part = beat<W>::bytes - at_;
      if (part > count) part = count;
      if (place != nullptr) {
        std::memcpy(beat_.data + at_, place, part);
        place += part;
      }
      at_ += static_cast<unsigned>(part);
      count -= part;
    }
  }
  void finish() { send(true); }
  // The payload counts from here.
  void begin() { position_ = 0; }

  void align(uint32_t alignment) {
    const uint32_t padding = (alignment - position_ % alignment) % alignment;
    put(nullptr, padding);
    position_ += padding;
  }
  template <class T>
  void number(unsigned, const T& value) {
    align(sizeof(T));
    count(&value, sizeof(T));
  }
  template <class T, size_t N>
  void array(unsigned, const T (&values)[N]) {
    align(sizeof(T));
    count(values, sizeof(values));
  }
  void length(unsigned, const uint32_t& value, uint32_t) {
    number(0, value);
    align(8);
  }
  template <class T, uint32_t N>
  void data(unsigned field, const sequence<T, N>& values) {
    length(field, values.length, N);
    count(values.data, size_t{values.length} * sizeof(T));
  }

 private:
  void count(const void* from, size_t bytes) {
    put(from, bytes);
    position_ += static_cast<uint32_t>(bytes);
  }
  void send(bool last) {
    beat_.keep = at_ == 64 ? ~uint64_t{0} : (uint64_t{1} << at_) - 1;
    beat_.last = last;
    if (!refused_) {
      if (waits_) out_.write(beat_);
      else waits_ = out_.write_nb(beat_), refused_ = !waits_;
    }
    beat_ = beat<W>();
    at_ = 0;
  }

  stream<beat<W>>& out_;
  bool waits_;
  bool refused_ = false;
  beat<W> beat_;
  unsigned at_ = 0;
  uint32_t position_ = 0;
};

template <unsigned W, class Message>
fault pack(stream<beat<W>>& out, const Message& message, const header& head, bool waits) {
  counter count;
  Message::visit(message, count);
  if (!count.fits()) return fault::bound;
  uint8_t bytes[header_bytes] = {1, 0};
  const uint32_t length = static_cast<uint32_t>(count.bytes());
  std::memcpy(bytes + 2, &head.publisher_id, 2);
  std::memcpy(bytes + 4, &length, 4);
  std::memcpy(bytes + 8, &head.sequence, 4);
  std::memcpy(bytes + 16, &head.stamp_ns, 8);
  writer<W> fields(out, waits);
  fields.put(bytes, header_bytes);
  fields.begin();
  Message::visit(message, fields);
  fields.finish();
  return fields.sent() ? fault::none : fault::nothing;
}

template <unsigned W, class Message>
fault unpack(stream<beat<W>>& in, const beat<W>& first, Message& message, header& head) {
  source<W> from(in, first);
  reader<W> fields(from);
  uint8_t bytes[header_bytes] = {};
  uint32_t payload_bytes = 0;
  fault found = fault::none;
  if (!from.take(bytes, header_bytes)) found = fault::too_short;
  else if (bytes[0] != 1 || bytes[1] != 0) found = fault::header;
  if (found == fault::none) {
    std::memcpy(&head.publisher_id, bytes + 2, 2);
    std::memcpy(&payload_bytes, bytes + 4, 4);
    std::memcpy(&head.sequence, bytes + 8, 4);
    std::memcpy(&head.stamp_ns, bytes + 16, 8);
    Message::visit(message, fields);
    found = fields.found();
  }
  bool damaged = false;
  const bool clean = from.finish(damaged);
  if (found != fault::none) return found;
  if (!clean) return fault::too_long;
  if (damaged) return fault::damaged;
  return fields.position() == payload_bytes ? fault::none : fault::length;
}

}  // namespace detail

// Bytes of the message's payload.
template <class Message>
uint64_t payload_bytes(const Message& message) {
  detail::counter count;
  Message::visit(message, count);
  return count.bytes();
}

// Waits for a message and takes it. Where the fault is not none, the message holds what came so far.
template <unsigned W, class Message>
fault take(stream<beat<W>>& in, Message& message, header& head) {
  return detail::unpack(in, in.read(), message, head);
}

// Takes a message if its first beat is there, and then waits for the others.
template <unsigned W, class Message>
fault try_take(stream<beat<W>>& in, Message& message, header& head) {
  beat<W> first;
  if (!in.read_nb(first)) return fault::nothing;
  return detail::unpack(in, first, message, head);
}

// Publishes a message, waiting for room. A length above its bound is refused: nothing is sent.
template <unsigned W, class Message>
fault publish(stream<beat<W>>& out, const Message& message, const header& head) {
  return detail::pack(out, message, head, true);
}

// Publishes a message if there is room for its first beat, and then waits for the others to go.
template <unsigned W, class Message>
fault try_publish(stream<beat<W>>& out, const Message& message, const header& head) {
  return detail::pack(out, message, head, false);
}

}  // namespace xd

#define XD_TAKE(in, message, header) xd::take(in, message, header)
#define XD_TRY_TAKE(in, message, header) xd::try_take(in, message, header)
#define XD_PUBLISH(out, message, header) xd::publish(out, message, header)
#define XD_TRY_PUBLISH(out, message, header) xd::try_publish(out, message, header)
