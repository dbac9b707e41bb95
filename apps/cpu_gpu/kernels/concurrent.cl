/* The concurrent benchmark: each item reads one element of the other half and its own, and writes its own.
   Specified in benchmark.rs; square roots and quotients may differ from the processor's in the last bits. */
#define PI 3.14159265f

/* As `cache`; of the others, each item reads the one at its own place. */
XD_KERNEL concurrent(XD_OUT(own), XD_IN(others), u32 first, u32 count, u32 others_first, u32 others_count, u32 step) {
    XD_WRITE(f32, own);
    XD_READ(f32, others);
    if (XD_X >= count || XD_X >= others_count) return;
    u32 at = first + step * XD_X;
    f32 value = 2.0f * sqrt(own[at] + others[others_first + step * XD_X]);
    value = value / (sqrt(PI * value) / 0.7f) * 1.6f;
    value = value / (1.0f + sqrt(PI * value) / 0.7f) * 1.6f;
    own[at] = value;
}
