// Prints messages of odd_msgs/msg/Everything as JSON, a line each, read by generated accessors.
// Usage: everything FILE...
#include "odd_msgs.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static void check(xd_status status) {
    if (status != XD_OK) {
        std::fprintf(stderr, "status %d\n", status);
        std::exit(1);
    }
}

static std::string number(double value, int digits) {
    if (value != value) return "\"NaN\"";
    if (value - value != 0) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    char text[64];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return std::strpbrk(text, ".e") ? text : std::string(text) + ".0";
}
static std::string json(double value) { return number(value, 17); }
static std::string json(uint64_t value) { return std::to_string(value); }
static std::string json(uint32_t value) { return std::to_string(value); }
static std::string json(int value) { return std::to_string(value); }

static std::string json(const char *text, size_t length) {
    std::string out = "\"";
    for (size_t index = 0; index < length; index++) {
        unsigned char byte = static_cast<unsigned char>(text[index]);
        if (byte == '"' || byte == '\\' || byte < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", byte);
            out += escape;
        } else {
            out += static_cast<char>(byte);
        }
    }
    return out + "\"";
}

static std::string json_wide(const uint16_t *units, size_t count) {
    std::string out = "\"";
    for (size_t index = 0; index < count; index++) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", units[index]);
        out += escape;
    }
    return out + "\"";
}

template <typename T> static std::string list(const T *values, size_t count) {
    std::string out;
    for (size_t index = 0; index < count; index++) out += (index ? "," : "") + json(values[index]);
    return "[" + out + "]";
}

using View = odd_msgs__msg__Everything__view;

// A list of `records`, each printed by `one(index)`.
template <typename F> static std::string each(xd_records records, F one) {
    std::string out;
    for (size_t index = 0; index < records.count; index++) out += (index ? "," : "") + one(index);
    return "[" + out + "]";
}

static std::string result(odd_msgs__msg__Result__view view) {
    const char *text;
    size_t length;
    check(odd_msgs__msg__Result__why(view, &text, &length));
    return "{\"why\":" + json(text, length) +
           ",\"code\":" + json(odd_msgs__msg__Result__code(view)) + "}";
}

static std::string thing(block__msg__Thing__view view) {
    return "{\"a\":" + json(block__msg__Thing__a(view)) + ",\"b\":" + json(block__msg__Thing__b(view)) +
           ",\"c\":" + json(block__msg__Thing__c(view)) + ",\"d\":" + json(block__msg__Thing__d(view)) +
           "}";
}

static std::string field(const char *name, const std::string &value) {
    return ",\"" + std::string(name) + "\":" + value;
}

#define NUMBERS(name, type)                                        \
    {                                                              \
        const type *data;                                          \
        size_t count;                                              \
        check(odd_msgs__msg__Everything__##name(view, &data, &count)); \
        out += field(#name, list(data, count));                    \
    }
#define TEXT(name)                                                 \
    {                                                              \
        const char *text;                                          \
        size_t length;                                             \
        check(odd_msgs__msg__Everything__##name(view, &text, &length)); \
        out += field(#name, json(text, length));                   \
    }
#define WIDE(name)                                                 \
    {                                                              \
        const uint16_t *data;                                      \
        size_t count;                                              \
        check(odd_msgs__msg__Everything__##name(view, &data, &count)); \
        out += field(#name, json_wide(data, count));               \
    }
#define RECORDS(name, print)                                       \
    {                                                              \
        xd_records records;                                        \
        check(odd_msgs__msg__Everything__##name(view, &records));  \
        out += field(#name, each(records, [&](size_t index) { return print; })); \
    }
#define SCALAR(name) out += field(#name, json(odd_msgs__msg__Everything__##name(view)));
#define ARRAY(name)                                                \
    out += field(#name, list(odd_msgs__msg__Everything__##name(view), \
                             odd_msgs__msg__Everything__##name##__COUNT));

static std::string everything(View view) {
    auto header = odd_msgs__msg__Everything__header(view);
    auto stamp = std_msgs__msg__Header__stamp(header);
    const char *text;
    size_t length;
    check(std_msgs__msg__Header__frame_id(header, &text, &length));
    std::string out = "\"header\":{\"stamp\":{\"sec\":" + json(builtin_interfaces__msg__Time__sec(stamp)) +
                      ",\"nanosec\":" + json(builtin_interfaces__msg__Time__nanosec(stamp)) +
                      "},\"frame_id\":" + json(text, length) + "}";
    out += field("flag", odd_msgs__msg__Everything__flag(view) ? "true" : "false");
    SCALAR(raw)
    SCALAR(letter)
    SCALAR(type)
    SCALAR(self)
    ARRAY(flags)
    ARRAY(small)
    ARRAY(large)
    NUMBERS(shorts, int16_t)
    NUMBERS(many_flags, uint8_t)
    NUMBERS(few, uint32_t)
    TEXT(text)
    TEXT(short_text)
    WIDE(wide)
    WIDE(short_wide)
    RECORDS(two_texts, (check(odd_msgs__msg__Everything__two_texts__at(view, records, index, &text, &length)), json(text, length)))
    RECORDS(texts, (check(odd_msgs__msg__Everything__texts__at(view, records, index, &text, &length)), json(text, length)))
    const uint16_t *units;
    size_t count;
    RECORDS(wides, (check(odd_msgs__msg__Everything__wides__at(view, records, index, &units, &count)), json_wide(units, count)))
    out += field("result", result(odd_msgs__msg__Everything__result(view)));
    odd_msgs__msg__Result__view of_result;
    RECORDS(two_results, (check(odd_msgs__msg__Everything__two_results__at(view, records, index, &of_result)), result(of_result)))
    RECORDS(results, (check(odd_msgs__msg__Everything__results__at(view, records, index, &of_result)), result(of_result)))
    odd_msgs__msg__Record__view record;
    RECORDS(plain_records, (check(odd_msgs__msg__Everything__plain_records__at(view, records, index, &record)),
                            "{\"a\":" + json(odd_msgs__msg__Record__a(record)) + ",\"b\":" + json(odd_msgs__msg__Record__b(record)) + "}"))
    out += field("thing", thing(odd_msgs__msg__Everything__thing(view)));
    block__msg__Thing__view of_thing;
    RECORDS(things, (check(odd_msgs__msg__Everything__things__at(view, records, index, &of_thing)), thing(of_thing)))
    geometry_msgs__msg__Point__view point;
    RECORDS(points, (check(odd_msgs__msg__Everything__points__at(view, records, index, &point)),
                     "{\"x\":" + json(geometry_msgs__msg__Point__x(point)) + ",\"y\":" + json(geometry_msgs__msg__Point__y(point)) +
                         ",\"z\":" + json(geometry_msgs__msg__Point__z(point)) + "}"))
    return "{" + out + "}";
}

// A reference that leads outside is refused when its field is read, and only there.
static void refuse_damage(std::vector<uint64_t> memory, size_t bytes) {
    xd_block block = {reinterpret_cast<unsigned char *>(memory.data()), bytes};
    const uint64_t words[2] = {bytes, 1 | (uint64_t{2} << 32)};
    std::memcpy(reinterpret_cast<unsigned char *>(memory.data()) +
                    offsetof(odd_msgs__msg__Everything, text), words, 16);
    View view;
    check(odd_msgs__msg__Everything__of(block, &view));
    const char *text;
    size_t length;
    bool refused = odd_msgs__msg__Everything__text(view, &text, &length) == XD_OUT_OF_BLOCK;
    block.bytes = 100;
    refused = refused && odd_msgs__msg__Everything__of(block, &view) == XD_TOO_SHORT;
    if (!refused) {
        std::fprintf(stderr, "damage was not refused\n");
        std::exit(1);
    }
}

int main(int count, char **names) {
    for (int index = 1; index < count; index++) {
        std::FILE *file = std::fopen(names[index], "rb");
        if (!file) return 1;
        std::vector<uint64_t> memory(1 << 16);
        size_t bytes = std::fread(memory.data(), 1, memory.size() * 8, file);
        std::fclose(file);
        xd_block block = {reinterpret_cast<unsigned char *>(memory.data()), bytes};
        View view;
        check(odd_msgs__msg__Everything__of(block, &view));
        std::printf("%s\n", everything(view).c_str());
        refuse_damage(memory, bytes);
    }
}
