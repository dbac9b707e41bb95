
// A node of two threads: one publishes, one passes on, and the main thread takes.
#include <thread>

int main() {
  static message_image sent, passed, taken;
  xd::stream<xd::beat<64>> up(4), down(4);
  constexpr uint32_t count = 200;
  std::thread publisher([&] {
    for (uint32_t i = 0; i < count; i++) {
      sent.height = i;
      sent.data.length = i % 17;
      for (uint32_t j = 0; j < sent.data.length && j < sent.data.bound; j++) sent.data.data[j] = uint8_t(i + j);
      XD_PUBLISH(up, sent, (xd::header{1, i, 2 * i}));
    }
  });
  std::thread node([&] {
    xd::header header;
    for (uint32_t i = 0; i < count;) {
      if (XD_TRY_TAKE(up, passed, header) == xd::fault::nothing) continue;
      while (XD_TRY_PUBLISH(down, passed, header) == xd::fault::nothing) {
      }
      i++;
    }
  });
  bool right = true;
  for (uint32_t i = 0; i < count; i++) {
    xd::header header;
    right &= XD_TAKE(down, taken, header) == xd::fault::none;
    right &= taken.height == i && header.sequence == i && header.stamp_ns == 2 * i;
    right &= taken.data.length == i % 17 && (i % 17 == 0 || taken.data.data[0] == uint8_t(i));
  }
  publisher.join();
  node.join();
  sent.data.length = sent.data.bound + 1;
  right &= XD_PUBLISH(up, sent, xd::header{}) == xd::fault::bound && up.empty();
  static message_nested nested;
  static message_flat flat;
  right &= xd::payload_bytes(nested) <= message_nested::payload_bytes_max;
  right &= xd::payload_bytes(flat) <= message_flat::payload_bytes_max;
  return right ? 0 : 1;
}
