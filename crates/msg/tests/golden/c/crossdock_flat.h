/* Flat layout v1 for C11 and C++11: what the generated headers of packages include.
 *
 * The publisher of a message keeps a writable mapping, so nothing that was read once stays true. Every
 * accessor fetches a number or a reference once, and checks the fetched copy against the block, whose
 * address and length are this program's own. Texts end with a NUL byte in a message of a correct
 * publisher; do not rely on it, use the length. No function allocates or blocks. */
#ifndef CROSSDOCK_FLAT_H
#define CROSSDOCK_FLAT_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define XD_ASSERT(condition, text) static_assert(condition, text)
#else
#define XD_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the flat layout is little endian"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of variable length: bytes from the start of the block, and numbers of elements. */
typedef struct xd_reference {
    uint64_t offset;
    uint32_t length;
    uint32_t capacity;
} xd_reference;
XD_ASSERT(sizeof(xd_reference) == 16, "xd_reference");

/* IEEE 754 binary128, the `long double` of OMG IDL. */
typedef struct xd_float128 {
    uint64_t low;
    uint64_t high;
} xd_float128;

/* The bytes of one message. They start at a multiple of 8 and stay mapped while the block is used. */
typedef struct xd_block {
    const unsigned char *start;
    size_t bytes;
} xd_block;

/* Structs or references that are known to be inside a block. */
typedef struct xd_records {
    size_t at;
    size_t count;
} xd_records;

/* What is wrong with a message. */
typedef enum xd_status {
    XD_OK = 0,
    /* The block is shorter than the root struct. */
    XD_TOO_SHORT = 1,
    /* A reference points outside the block. */
    XD_OUT_OF_BLOCK = 2,
    /* The block, or elements in it, are not aligned. */
    XD_MISALIGNED = 3,
    /* The elements are in another memory space, which version 1 reserves. */
    XD_EXTERNAL = 4,
    /* There are more elements than the type allows. */
    XD_OVER_BOUND = 5,
    /* There is no such element. */
    XD_NO_ELEMENT = 6
} xd_status;

#define XD_EXTERNAL_BUFFER 0x80000000u

/* A number, by one load. The place is inside the block and aligned. */
#define XD_LOAD(type, block, at) (*(const volatile type *)((block).start + (at)))

static inline xd_float128 xd_load_float128(xd_block block, size_t at) {
    xd_float128 value;
    value.low = XD_LOAD(uint64_t, block, at);
    value.high = XD_LOAD(uint64_t, block, at + 8);
    return value;
}

/* Whether a block can hold a root struct of `bytes` bytes. */
static inline xd_status xd_root(xd_block block, size_t bytes) {
    if (block.bytes < bytes) {
        return XD_TOO_SHORT;
    }
    return (uintptr_t)block.start % 8 == 0 ? XD_OK : XD_MISALIGNED;
}

/* The place of the elements that the reference at byte `at` names, fetched once. `at` is inside the
 * block and aligned. */
static inline xd_status xd_place(
    xd_block block, size_t at, size_t size, size_t alignment, uint32_t bound, xd_records *out) {
    uint64_t offset = XD_LOAD(uint64_t, block, at);
    uint64_t counts = XD_LOAD(uint64_t, block, at + 8);
    uint32_t length = (uint32_t)counts;
    out->at = 0;
    out->count = 0;
    if ((uint32_t)(counts >> 32) & XD_EXTERNAL_BUFFER) {
        return XD_EXTERNAL;
    }
    if (length == 0) {
        return XD_OK;
    }
    if (length > bound) {
        return XD_OVER_BOUND;
    }
    if (offset > block.bytes || (uint64_t)length > (block.bytes - offset) / size) {
        return XD_OUT_OF_BLOCK;
    }
    if ((uintptr_t)(block.start + offset) % alignment != 0) {
        return XD_MISALIGNED;
    }
    out->at = (size_t)offset;
    out->count = length;
    return XD_OK;
}

/* Numbers of `size` bytes each that a reference names. */
static inline xd_status xd_slice(
    xd_block block, size_t at, size_t size, uint32_t bound, const void **data, size_t *count) {
    xd_records found;
    xd_status status = xd_place(block, at, size, size < 8 ? size : 8, bound, &found);
    *data = block.start + found.at;
    *count = found.count;
    return status;
}

/* Bytes of a text that a reference names, without the NUL byte. */
static inline xd_status xd_text(
    xd_block block, size_t at, uint32_t bound, const char **text, size_t *length) {
    const void *data = 0;
    xd_status status = xd_slice(block, at, 1, bound, &data, length);
    *text = (const char *)data;
    return status;
}

/* Structs or references of `stride` bytes each that a reference names. */
static inline xd_status xd_records_of(
    xd_block block, size_t at, size_t stride, uint32_t bound, xd_records *out) {
    return xd_place(block, at, stride, 8, bound, out);
}

#ifdef __cplusplus
}
#endif

#endif /* CROSSDOCK_FLAT_H */
