// What only C++ can do with a message of a C++ program: its strings and vectors, and functions of its type support, which may
// throw. No exception leaves a function of this file; each says how it went by its result.
//
// No header of ROS is used. Vectors of numbers are seen by the size of their elements alone: libstdc++ and libc++ lay out
// std::vector<T> and allocate for it alike for every T of one size and alignment. The build turns strict aliasing off for this
// file, because a std::vector<float> is seen as one of std::uint32_t.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace {

enum Outcome : int { DONE = 0, NO_MEMORY = 1, THREW = 2, REFUSED = 3 };

// Carries out what may throw.
template<typename Function>
int guarded(Function function) noexcept
{
  try {
    return function();
  } catch (const std::bad_alloc &) {
    return NO_MEMORY;
  } catch (...) {
    return THREW;
  }
}

template<typename Number>
int assign(void * vector, const void * data, std::size_t count)
{
  const auto * first = static_cast<const Number *>(data);
  static_cast<std::vector<Number> *>(vector)->assign(first, first + count);
  return DONE;
}

using Find = const void * (*)(const void * support, const char * identifier);
using Size = std::size_t (*)(const void * member);
using GetConst = const void * (*)(const void * member, std::size_t index);
using Get = void * (*)(void * member, std::size_t index);
using ResizeC = bool (*)(void * member, std::size_t count);
using ResizeCpp = void (*)(void * member, std::size_t count);
using Init = void (*)(void * message, int how);
using Fini = void (*)(void * message);

}  // namespace

extern "C" {

extern const std::size_t crossdock_rmw_string_bytes;
extern const std::size_t crossdock_rmw_wide_string_bytes;
const std::size_t crossdock_rmw_string_bytes = sizeof(std::string);
const std::size_t crossdock_rmw_wide_string_bytes = sizeof(std::u16string);

// Asks a type support for the one that `identifier` names.
int crossdock_rmw_find(Find find, const void * support, const char * identifier, const void ** found)
{
  return guarded([&] {
    *found = find(support, identifier);
    return DONE;
  });
}

const char * crossdock_rmw_string_view(const void * string, std::size_t * length)
{
  const auto * text = static_cast<const std::string *>(string);
  *length = text->size();
  return text->data();
}

int crossdock_rmw_string_assign(void * string, const char * data, std::size_t length)
{
  return guarded([&] {
    static_cast<std::string *>(string)->assign(data, length);
    return DONE;
  });
}

const char16_t * crossdock_rmw_wide_string_view(const void * string, std::size_t * length)
{
  const auto * text = static_cast<const std::u16string *>(string);
  *length = text->size();
  return text->data();
}

int crossdock_rmw_wide_string_assign(void * string, const std::uint16_t * data, std::size_t length)
{
  return guarded([&] {
    auto & text = *static_cast<std::u16string *>(string);
    text.resize(length);
    if (length > 0) {
      std::memcpy(&text[0], data, length * sizeof(char16_t));
    }
    return DONE;
  });
}

// The elements of a sequence, which lie one after the other.
int crossdock_rmw_elements(
  const void * member, Size size, GetConst get, const void ** first, std::size_t * count)
{
  return guarded([&] {
    *count = size(member);
    *first = *count == 0 ? nullptr : get(member, 0);
    return DONE;
  });
}

// Replaces the numbers of a vector: one pass, and no allocation if the vector has room.
int crossdock_rmw_vector_assign(void * vector, const void * data, std::size_t count, std::size_t bytes)
{
  return guarded([&]() -> int {
    switch (bytes) {
      case 1: return assign<std::uint8_t>(vector, data, count);
      case 2: return assign<std::uint16_t>(vector, data, count);
      case 4: return assign<std::uint32_t>(vector, data, count);
      case 8: return assign<std::uint64_t>(vector, data, count);
      default: return REFUSED;
    }
  });
}

// Gives a sequence of C++ `count` elements; those that stay keep their memory.
int crossdock_rmw_resize_cpp(
  void * member, ResizeCpp resize, Get get, std::size_t count, void ** first)
{
  return guarded([&] {
    resize(member, count);
    *first = count == 0 ? nullptr : get(member, 0);
    return DONE;
  });
}

// Gives a sequence of C `count` new elements.
int crossdock_rmw_resize_c(void * member, ResizeC resize, std::size_t count)
{
  return guarded([&] { return resize(member, count) ? DONE : NO_MEMORY; });
}

std::size_t crossdock_rmw_bools_length(const void * vector)
{
  return static_cast<const std::vector<bool> *>(vector)->size();
}

// The vector has at least `count` elements.
void crossdock_rmw_bools_copy(const void * vector, std::uint8_t * out, std::size_t count)
{
  const auto & bools = *static_cast<const std::vector<bool> *>(vector);
  for (std::size_t index = 0; index < count; ++index) {
    out[index] = bools[index] ? 1 : 0;
  }
}

int crossdock_rmw_bools_assign(void * vector, const std::uint8_t * data, std::size_t count)
{
  return guarded([&] {
    auto & bools = *static_cast<std::vector<bool> *>(vector);
    bools.resize(count);
    for (std::size_t index = 0; index < count; ++index) {
      bools[index] = data[index] != 0;
    }
    return DONE;
  });
}

int crossdock_rmw_init(Init init, void * message, int how)
{
  return guarded([&] {
    init(message, how);
    return DONE;
  });
}

int crossdock_rmw_fini(Fini fini, void * message)
{
  return guarded([&] {
    fini(message);
    return DONE;
  });
}

}  // extern "C"
