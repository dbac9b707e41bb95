// Messages of C with the values of `filled.cpp`, set and compared by the functions that rosidl generates.

#include <stdbool.h>

#include "rosidl_runtime_c/primitives_sequence_functions.h"
#include "rosidl_runtime_c/string_functions.h"
#include "rosidl_runtime_c/u16string_functions.h"
#include "sensor_msgs/msg/detail/image__functions.h"
#include "test_msgs/msg/detail/basic_types__functions.h"
#include "test_msgs/msg/detail/multi_nested__functions.h"
#include "test_msgs/msg/detail/unbounded_sequences__functions.h"
#include "test_msgs/msg/detail/w_strings__functions.h"

static void sequences(test_msgs__msg__UnboundedSequences * message)
{
  rosidl_runtime_c__boolean__Sequence__init(&message->bool_values, 3);
  message->bool_values.data[0] = true;
  message->bool_values.data[1] = false;
  message->bool_values.data[2] = true;
  rosidl_runtime_c__octet__Sequence__init(&message->byte_values, 2);
  message->byte_values.data[0] = 1;
  message->byte_values.data[1] = 255;
  rosidl_runtime_c__float__Sequence__init(&message->float32_values, 2);
  message->float32_values.data[0] = 1.5f;
  message->float32_values.data[1] = -2.25f;
  rosidl_runtime_c__double__Sequence__init(&message->float64_values, 1);
  message->float64_values.data[0] = 0.1;
  rosidl_runtime_c__int16__Sequence__init(&message->int16_values, 2);
  message->int16_values.data[0] = -32768;
  message->int16_values.data[1] = 7;
  rosidl_runtime_c__uint64__Sequence__init(&message->uint64_values, 1);
  message->uint64_values.data[0] = 18446744073709551615ull;
  rosidl_runtime_c__String__Sequence__init(&message->string_values, 3);
  rosidl_runtime_c__String__assign(&message->string_values.data[1], "longer than a short string of C++");
  rosidl_runtime_c__String__assign(&message->string_values.data[2], "x");
  test_msgs__msg__BasicTypes__Sequence__init(&message->basic_types_values, 2);
  message->basic_types_values.data[1].bool_value = true;
  message->basic_types_values.data[1].int64_value = -5;
  message->alignment_check = 42;
}

static void nested(test_msgs__msg__MultiNested * message)
{
  rosidl_runtime_c__String__assign(&message->array_of_arrays[1].string_values[2], "deep");
  test_msgs__msg__UnboundedSequences__Sequence__init(&message->unbounded_sequence_of_unbounded_sequences, 2);
  sequences(&message->unbounded_sequence_of_unbounded_sequences.data[1]);
}

static void wide(test_msgs__msg__WStrings * message)
{
  static const uint16_t text[] = {'h', 0xe4, 0x2028, 0xd83d, 0xde00};
  static const uint16_t three[] = {'t', 'h', 'r', 'e', 'e'};
  rosidl_runtime_c__U16String__assignn(&message->wstring_value, text, 5);
  rosidl_runtime_c__U16String__assignn(&message->array_of_wstrings[1], (const uint16_t[]){'b'}, 1);
  rosidl_runtime_c__U16String__Sequence__init(&message->unbounded_sequence_of_wstrings, 2);
  rosidl_runtime_c__U16String__assignn(&message->unbounded_sequence_of_wstrings.data[1], three, 5);
}

static void image(sensor_msgs__msg__Image * message)
{
  message->header.stamp.sec = -3;
  rosidl_runtime_c__String__assign(&message->header.frame_id, "camera");
  message->height = 2;
  message->width = 3;
  rosidl_runtime_c__String__assign(&message->encoding, "mono8");
  message->is_bigendian = 1;
  message->step = 3;
  rosidl_runtime_c__uint8__Sequence__init(&message->data, 6);
  for (int index = 0; index < 6; ++index) {
    message->data.data[index] = index + 1;
  }
}

#define FILLED(NAME, TYPE) \
  void fill_c_ ## NAME(void * message) { NAME(message); } \
  bool is_c_ ## NAME(const void * message) \
  { \
    TYPE * wanted = TYPE ## __create(); \
    NAME(wanted); \
    bool equal = TYPE ## __are_equal(wanted, message); \
    TYPE ## __destroy(wanted); \
    return equal; \
  }

FILLED(sequences, test_msgs__msg__UnboundedSequences)
FILLED(nested, test_msgs__msg__MultiNested)
FILLED(wide, test_msgs__msg__WStrings)
FILLED(image, sensor_msgs__msg__Image)
