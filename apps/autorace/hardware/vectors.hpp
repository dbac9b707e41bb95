// What the testbenches of nodes read: frames for the node, and what it has to publish, in files of
// little endian words.
#pragma once

#include "axis.hpp"

#include <fstream>

namespace tb {

class Vectors {
 public:
  explicit Vectors(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) fail("%s cannot be read", path.c_str());
  }
  uint32_t word() {
    uint32_t value = 0;
    file_.read(reinterpret_cast<char*>(&value), 4);
    if (!file_) fail("%s ends too early", path_.c_str());
    return value;
  }
  // Bytes behind their number.
  std::vector<uint8_t> bytes() {
    std::vector<uint8_t> found(word());
    file_.read(reinterpret_cast<char*>(found.data()), std::streamsize(found.size()));
    if (!file_) fail("%s ends too early", path_.c_str());
    return found;
  }
  // Whether it is damaged, and its bytes.
  Message frame() {
    Message found;
    found.damaged = word() != 0;
    found.bytes = bytes();
    return found;
  }

 private:
  std::string path_;
  std::ifstream file_;
};

// What is expected as the node numbers it.
inline Message numbered(Message message, uint16_t publisher, uint32_t sequence) {
  std::memcpy(message.bytes.data() + 2, &publisher, 2);
  std::memcpy(message.bytes.data() + 8, &sequence, 4);
  return message;
}

}  // namespace tb
