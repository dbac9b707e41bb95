/* The concurrent benchmark: each item reads one element of the other half and its own, and writes its own.
   Specified in benchmark.rs; square roots and quotients may differ from the processor's in the last bits. */
#define PI 3.14159265f

/* `first` and every second element behind it, `count` of them, are written; of each, the element at the same
   distance behind `others_first` is read. */
XD_KERNEL concurrent(XD_OUT(array), u32 first, u32 count, u32 others_first) {
    XD_WRITE(f32, array);
    if (XD_X >= count) return;
    u32 own = first + 2 * XD_X;
    f32 value = 2.0f * sqrt(array[own] + array[others_first + 2 * XD_X]);
    value = value / (sqrt(PI * value) / 0.7f) * 1.6f;
    value = value / (1.0f + sqrt(PI * value) / 0.7f) * 1.6f;
    array[own] = value;
}
