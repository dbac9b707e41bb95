// What all testbenches draw their seeds' decisions from. It must not know any model.
#pragma once

#include <cstdint>

namespace tb {

// Reproducible chance (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // A number from low to high, both included.
  uint64_t between(uint64_t low, uint64_t high) { return low + next() % (high - low + 1); }
  bool percent(unsigned p) { return next() % 100 < p; }

 private:
  uint64_t state_;
};

}  // namespace tb
