// A memory with an AXI4 port for testbenches: random latency and stalls, errors on demand, and the
// rules of the protocol. It must not know any module, nor what lies in the memory and why.
//
// Written data can be read only when its response has been taken: whoever calls a write complete too
// early finds the old bytes.
#pragma once

#include "axis.hpp"

#include <map>
#include <unordered_map>

namespace tb {

// One signal of up to 64 bits, whatever type Verilator gave the port.
class Word {
 public:
  template <class Port>
  explicit Word(Port& port) : at_(reinterpret_cast<uint8_t*>(&port)), size_(sizeof(Port)) {}
  uint64_t get() const {
    uint64_t value = 0;
    std::memcpy(&value, at_, std::min<size_t>(size_, 8));
    return value;
  }
  void set(uint64_t value) const { std::memcpy(at_, &value, std::min<size_t>(size_, 8)); }

 private:
  uint8_t* at_;
  size_t size_;
};

struct AxiWritePort {
  Word addr, len, size, burst, avalid, aready;
  uint8_t* data;
  Word strb, last, wvalid, wready, resp, bvalid, bready;
};
#define AXI_WRITE_PORT(dut, p)                                                                   \
  tb::AxiWritePort {                                                                             \
    tb::Word((dut).p##_awaddr), tb::Word((dut).p##_awlen), tb::Word((dut).p##_awsize),           \
        tb::Word((dut).p##_awburst), tb::Word((dut).p##_awvalid), tb::Word((dut).p##_awready),   \
        reinterpret_cast<uint8_t*>(&(dut).p##_wdata), tb::Word((dut).p##_wstrb),                 \
        tb::Word((dut).p##_wlast), tb::Word((dut).p##_wvalid), tb::Word((dut).p##_wready),       \
        tb::Word((dut).p##_bresp), tb::Word((dut).p##_bvalid), tb::Word((dut).p##_bready)        \
  }

struct AxiReadPort {
  Word addr, len, size, burst, avalid, aready;
  uint8_t* data;
  Word resp, last, rvalid, rready;
};
#define AXI_READ_PORT(dut, p)                                                                    \
  tb::AxiReadPort {                                                                              \
    tb::Word((dut).p##_araddr), tb::Word((dut).p##_arlen), tb::Word((dut).p##_arsize),           \
        tb::Word((dut).p##_arburst), tb::Word((dut).p##_arvalid), tb::Word((dut).p##_arready),   \
        reinterpret_cast<uint8_t*>(&(dut).p##_rdata), tb::Word((dut).p##_rresp),                 \
        tb::Word((dut).p##_rlast), tb::Word((dut).p##_rvalid), tb::Word((dut).p##_rready)        \
  }

// How the memory behaves.
struct AxiBehaviour {
  unsigned latency_low = 40, latency_high = 40;  // cycles from a burst's acceptance to its answer
  unsigned stalls = 0, longest = 9;              // per channel, as Stalls
};

// The bytes, shared by ports.
class Bytes {
 public:
  uint8_t get(uint64_t address) {
    const auto found = pages_.find(address >> 12);
    return found == pages_.end() ? untouched(address) : found->second[address & 4095];
  }
  void set(uint64_t address, uint8_t value) {
    auto& page = pages_[address >> 12];
    if (page.empty()) {
      page.resize(4096);
      for (size_t i = 0; i < 4096; i++) page[i] = untouched((address & ~4095ull) + i);
    }
    page[address & 4095] = value;
  }
  // What nobody has written: not zero, so that a stray zero shows.
  static uint8_t untouched(uint64_t address) { return uint8_t(0xa5 ^ address ^ address >> 8); }

 private:
  std::unordered_map<uint64_t, std::vector<uint8_t>> pages_;
};

// What both directions share: bursts with their address, and the rules for them.
struct AxiBurst {
  uint64_t address;
  unsigned beats;
  uint64_t due;  // the first cycle in which it may be answered
  uint8_t resp;
};

class AxiAddressChannel {
 public:
  AxiAddressChannel(const char* name, size_t bytes) : name_(name), bytes_(bytes) {}
  // True when an address is taken at this edge.
  bool sample(const Word& addr, const Word& len, const Word& size, const Word& burst,
              const Word& valid, const Word& ready, AxiBurst& taken) {
    const bool offered = valid.get();
    const std::array<uint64_t, 2> now{addr.get(), len.get()};
    if (waiting_ && (!offered || now != offer_)) fail("%s: an offer changed", name_);
    waiting_ = offered && !ready.get();
    offer_ = now;
    if (!offered) return false;
    const unsigned beats = unsigned(now[1]) + 1;
    if ((1u << size.get()) != bytes_ || burst.get() != 1) fail("%s: not a full-width INCR burst", name_);
    if (now[0] % bytes_ != 0) fail("%s: %llx is not aligned", name_, (unsigned long long)now[0]);
    if ((now[0] & 4095) + beats * bytes_ > 4096)
      fail("%s: a burst of %u beats from %llx crosses 4 KiB", name_, beats,
           (unsigned long long)now[0]);
    if (waiting_) return false;
    taken = {now[0], beats, 0, 0};
    return true;
  }
  void clear() { waiting_ = false; }

 private:
  const char* name_;
  size_t bytes_;
  bool waiting_ = false;
  std::array<uint64_t, 2> offer_{};
};

// The write half.
class AxiWriteMemory {
 public:
  AxiWriteMemory(AxiWritePort port, size_t bytes, Bytes& memory, AxiBehaviour behaviour)
      : respond([](const AxiBurst&) { return uint8_t(0); }), port_(port), bytes_(bytes),
        memory_(memory), behaviour_(behaviour), address_("write address", bytes),
        aw_(behaviour.stalls, behaviour.longest), w_(behaviour.stalls, behaviour.longest),
        b_(behaviour.stalls, behaviour.longest) {
    clear();
  }
  // Which response a burst gets; one with an error writes nothing.
  std::function<uint8_t(const AxiBurst&)> respond;

  void clear() {
    bursts_.clear();
    beats_.clear();
    whole_ = 0;
    answering_ = waiting_ = false;
    address_.clear();
    port_.bvalid.set(0);
    port_.aready.set(0);
    port_.wready.set(0);
  }
  // Before the clock edge.
  void drive(Random& random, uint64_t cycle) {
    // Some memories take an address only with its data, and data only after its address.
    const bool shy = behaviour_.stalls > 0 && cycle / 512 % 2 == 1;
    port_.aready.set(!aw_.pause(random) && bursts_.size() < 64 && !(shy && !beats_.size() && !bursts_.empty()));
    port_.wready.set(!w_.pause(random) && beats_.size() < 4096 && !(shy && bursts_.size() <= whole_));
    if (!answering_ && !bursts_.empty() && whole_ > 0 && bursts_.front().due <= cycle
        && !b_.pause(random))
      answering_ = true;
    port_.bvalid.set(answering_);
    port_.resp.set(answering_ ? bursts_.front().resp : random.next() & 3);
  }
  // After the outputs have settled.
  void sample(Random& random, uint64_t cycle) {
    AxiBurst burst;
    if (answering_ && port_.bready.get()) answer();
    if (address_.sample(port_.addr, port_.len, port_.size, port_.burst, port_.avalid, port_.aready,
                        burst)) {
      burst.resp = respond(burst);
      bursts_.push_back(burst);
      requested += 1;
      most_outstanding = std::max(most_outstanding, requested - answered);
      delay(random, cycle);
    }
    Beat beat;
    const bool valid = port_.wvalid.get();
    if (valid) {
      std::memcpy(beat.data.data(), port_.data, bytes_);
      beat.keep = port_.strb.get();
      beat.last = port_.last.get();
    }
    if (waiting_ && (!valid || !(beat == offered_))) fail("write data: an offer changed");
    waiting_ = valid && !port_.wready.get();
    offered_ = beat;
    if (valid && !waiting_) {
      beats += 1;
      if (first_beat == 0) first_beat = cycle;
      last_beat = cycle;
      for (uint64_t keep = beat.keep; keep != 0; keep &= keep - 1) bytes_written += 1;
      beats_.push_back(beat);
      if (beat.last) {
        whole_ += 1;
        delay(random, cycle);
      }
    }
  }

  uint64_t requested = 0, answered = 0, most_outstanding = 0, beats = 0, bytes_written = 0;
  uint64_t first_beat = 0, last_beat = 0, last_answer = 0;

 private:
  // The answer of the newest burst that has come completely waits for its latency from now on.
  void delay(Random& random, uint64_t cycle) {
    const size_t n = std::min<size_t>(whole_, bursts_.size());
    if (n == 0) return;
    bursts_[n - 1].due = std::max(bursts_[n - 1].due, cycle + random.between(
        behaviour_.latency_low, behaviour_.latency_high));
  }
  void answer() {
    const AxiBurst burst = bursts_.front();
    for (unsigned i = 0; i < burst.beats; i++) {
      const Beat& beat = beats_.front();
      if (beat.last != (i + 1 == burst.beats))
        fail("write data: wlast is not at beat %u of the burst of %u from %llx", i + 1, burst.beats,
             (unsigned long long)burst.address);
      for (size_t byte = 0; byte < bytes_; byte++)
        if ((beat.keep >> byte & 1) && burst.resp < 2)
          memory_.set(burst.address + i * bytes_ + byte, beat.data[byte]);
      beats_.pop_front();
    }
    bursts_.pop_front();
    whole_ -= 1;
    answered += 1;
    answering_ = false;
  }

  AxiWritePort port_;
  size_t bytes_;
  Bytes& memory_;
  AxiBehaviour behaviour_;
  AxiAddressChannel address_;
  Stalls aw_, w_, b_;
  std::deque<AxiBurst> bursts_;
  std::deque<Beat> beats_;
  size_t whole_ = 0;  // last beats that wait for their answer
  bool answering_ = false, waiting_ = false;
  Beat offered_;
};

// The read half: bursts in order, after the first beat one per cycle but for stalls.
class AxiReadMemory {
 public:
  AxiReadMemory(AxiReadPort port, size_t bytes, Bytes& memory, AxiBehaviour behaviour)
      : respond([](const AxiBurst&) { return uint8_t(0); }), port_(port), bytes_(bytes),
        memory_(memory), behaviour_(behaviour), address_("read address", bytes),
        ar_(behaviour.stalls, behaviour.longest), r_(behaviour.stalls, behaviour.longest) {
    clear();
  }
  // Which response one beat of a burst gets.
  std::function<uint8_t(const AxiBurst&)> respond;

  void clear() {
    bursts_.clear();
    beat_ = 0;
    answering_ = false;
    address_.clear();
    port_.rvalid.set(0);
    port_.aready.set(0);
  }
  void drive(Random& random, uint64_t cycle) {
    port_.aready.set(!ar_.pause(random) && bursts_.size() < 64);
    if (!answering_ && !bursts_.empty() && (beat_ > 0 || bursts_.front().due <= cycle)
        && !r_.pause(random))
      answering_ = true;
    port_.rvalid.set(answering_);
    for (size_t byte = 0; byte < bytes_; byte++)
      port_.data[byte] = answering_
          ? memory_.get(bursts_.front().address + beat_ * bytes_ + byte) : uint8_t(random.next());
    // One beat of the burst carries its error.
    const bool bad = answering_ && beat_ == bursts_.front().address / bytes_ % bursts_.front().beats;
    port_.resp.set(bad ? bursts_.front().resp : answering_ ? 0 : random.next() & 3);
    port_.last.set(answering_ && beat_ + 1 == bursts_.front().beats);
  }
  void sample(Random& random, uint64_t cycle) {
    if (answering_ && port_.rready.get()) {
      answering_ = false;
      beats += 1;
      if (first_beat == 0) first_beat = cycle;
      last_beat = cycle;
      beat_ += 1;
      if (beat_ == bursts_.front().beats) {
        bursts_.pop_front();
        beat_ = 0;
        answered += 1;
      }
    } else if (answering_) {
      refused += 1;
    }
    AxiBurst burst;
    if (address_.sample(port_.addr, port_.len, port_.size, port_.burst, port_.avalid, port_.aready,
                        burst)) {
      burst.due = cycle + random.between(behaviour_.latency_low, behaviour_.latency_high);
      burst.resp = respond(burst);
      bursts_.push_back(burst);
      requested += 1;
      most_outstanding = std::max(most_outstanding, requested - answered);
    }
  }

  uint64_t requested = 0, answered = 0, most_outstanding = 0, beats = 0, refused = 0;
  uint64_t first_beat = 0, last_beat = 0;

 private:
  AxiReadPort port_;
  size_t bytes_;
  Bytes& memory_;
  AxiBehaviour behaviour_;
  AxiAddressChannel address_;
  Stalls ar_, r_;
  std::deque<AxiBurst> bursts_;
  unsigned beat_ = 0;
  bool answering_ = false;
};

}  // namespace tb
