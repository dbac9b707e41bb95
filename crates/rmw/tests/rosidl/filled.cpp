// Messages of C++ with known values, set and compared field by field as a program would: what the conversion of plans is
// compared with. The values are those of `filled.rs`.

#include <string>

#include "sensor_msgs/msg/detail/image__struct.hpp"
#include "test_msgs/msg/detail/multi_nested__struct.hpp"
#include "test_msgs/msg/detail/unbounded_sequences__struct.hpp"
#include "test_msgs/msg/detail/w_strings__struct.hpp"

static test_msgs::msg::UnboundedSequences sequences()
{
  test_msgs::msg::UnboundedSequences message;
  message.bool_values = {true, false, true};
  message.byte_values = {1, 255};
  message.float32_values = {1.5f, -2.25f};
  message.float64_values = {0.1};
  message.int16_values = {-32768, 7};
  message.uint64_values = {18446744073709551615ull};
  message.string_values = {"", "longer than a short string of C++", "x"};
  message.basic_types_values.resize(2);
  message.basic_types_values[1].bool_value = true;
  message.basic_types_values[1].int64_value = -5;
  message.alignment_check = 42;
  return message;
}

static test_msgs::msg::MultiNested nested()
{
  test_msgs::msg::MultiNested message;
  message.array_of_arrays[1].string_values[2] = "deep";
  message.unbounded_sequence_of_unbounded_sequences.resize(2);
  message.unbounded_sequence_of_unbounded_sequences[1] = sequences();
  return message;
}

static test_msgs::msg::WStrings wide()
{
  test_msgs::msg::WStrings message;
  message.wstring_value = u"h\u00e4\u2028\U0001f600";
  message.array_of_wstrings[1] = u"b";
  message.unbounded_sequence_of_wstrings = {u"", u"three"};
  return message;
}

static sensor_msgs::msg::Image image()
{
  sensor_msgs::msg::Image message;
  message.header.stamp.sec = -3;
  message.header.frame_id = "camera";
  message.height = 2;
  message.width = 3;
  message.encoding = "mono8";
  message.is_bigendian = 1;
  message.step = 3;
  message.data = {1, 2, 3, 4, 5, 6};
  return message;
}

#define FILLED(NAME, TYPE) \
  extern "C" void fill_cpp_ ## NAME(void * message) { *static_cast<TYPE *>(message) = NAME(); } \
  extern "C" bool is_cpp_ ## NAME(const void * message) { return *static_cast<const TYPE *>(message) == NAME(); }

FILLED(sequences, test_msgs::msg::UnboundedSequences)
FILLED(nested, test_msgs::msg::MultiNested)
FILLED(wide, test_msgs::msg::WStrings)
FILLED(image, sensor_msgs::msg::Image)
