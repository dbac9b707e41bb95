/* The cache benchmark: each item adds all elements that it is given to its own, twice, one load and one store each.
   Specified in benchmark.rs; sums wrap, so the bits are the processor's. */
#define PASSES 2

/* Of `own`, `first` and every `step`-th element behind it are changed, `count` of them; of `others`, `others_first`
   and every `step`-th behind it are added, `others_count` of them. Both may be one array. */
XD_KERNEL cache(XD_OUT(own), XD_IN(others), u32 first, u32 count, u32 others_first, u32 others_count, u32 step) {
    XD_WRITE(u32, own);
    XD_READ(u32, others);
    if (XD_X >= count) return;
    u32 at = first + step * XD_X;
    for (u32 pass = 0; pass < PASSES; pass++) {
        for (u32 other = 0; other < others_count; other++) {
            own[at] += others[others_first + step * other];
        }
    }
}
