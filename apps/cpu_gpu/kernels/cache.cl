/* The cache benchmark: each item adds all elements of its parity in the other half to its own, twice, one load and
   one store each. Specified in benchmark.rs; sums wrap, so the bits are the processor's. */
#define PASSES 2

/* `first` and every second element behind it, `count` of them, are written; `others_first` and every second
   element behind it, `others_count` of them, are read. */
XD_KERNEL cache(XD_OUT(array), u32 first, u32 count, u32 others_first, u32 others_count) {
    XD_WRITE(u32, array);
    if (XD_X >= count) return;
    u32 own = first + 2 * XD_X;
    for (u32 pass = 0; pass < PASSES; pass++) {
        for (u32 other = 0; other < others_count; other++) {
            array[own] += array[others_first + 2 * other];
        }
    }
}
