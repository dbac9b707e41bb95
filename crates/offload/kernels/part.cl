/* Copies the elements of a part of an array and touches no others, so that somebody else may write what lies between
   them meanwhile: one load and one store for each, of its own length, so that none is ever seen half written. */

/* Of `from`, `from_first` and every `from_step`-th element behind it go to `to_first` and every `to_step`-th behind
   that of `to`, `count` of them in all; `items` work items share them. Numbers are of elements. */
#define XD_PART(name, type)                                                                                          \
    XD_KERNEL name(XD_OUT(to), XD_IN(from), u64 to_first, u64 to_step, u64 from_first, u64 from_step, u64 count,     \
                   u32 items) {                                                                                      \
        XD_WRITE(type, to);                                                                                          \
        XD_READ(type, from);                                                                                         \
        if (XD_X >= items) return;                                                                                   \
        for (u64 at = XD_X; at < count; at += items) {                                                               \
            to[to_first + to_step * at] = from[from_first + from_step * at];                                         \
        }                                                                                                            \
    }

XD_PART(part_1, u8)
XD_PART(part_2, u16)
XD_PART(part_4, u32)
XD_PART(part_8, u64)
