/* Rectification of 8-bit pictures by a table of positions; specified at the head of the crate, equal bit by
   bit to RectificationTable::apply. One item per output pixel. */
#define FRACTION_BITS 10
#define ONE 1024u
#define NOWHERE (-2147483647 - 1)

XD_DEVICE u32 neighbour(const XD_GLOBAL u8 *input, i32 x, i32 y, i32 width, i32 height, u32 channels, u32 channel) {
    if (x < 0 || y < 0 || x >= width || y >= height) return 0;
    return input[((u32)y * (u32)width + (u32)x) * channels + channel];
}

/* `output` holds the rows `first` to `first + rows - 1` of the rectified picture. */
XD_KERNEL remap(XD_IN(positions), XD_IN(input), XD_OUT(output), u32 width, u32 height, u32 channels, u32 first,
                u32 rows) {
    XD_READ(i32, positions);
    XD_READ(u8, input);
    XD_WRITE(u8, output);
    if (XD_X >= width || XD_Y >= rows) return;
    u32 entry = ((first + XD_Y) * width + XD_X) * 2;
    u32 to = (XD_Y * width + XD_X) * channels;
    i32 px = positions[entry], py = positions[entry + 1];
    if (px == NOWHERE) {
        for (u32 c = 0; c < channels; c++) output[to + c] = 0;
        return;
    }
    i32 x = px >> FRACTION_BITS, y = py >> FRACTION_BITS;
    u32 fx = (u32)px & (ONE - 1), fy = (u32)py & (ONE - 1);
    i32 w = (i32)width, h = (i32)height;
    for (u32 c = 0; c < channels; c++) {
        u32 upper = (ONE - fx) * neighbour(input, x, y, w, h, channels, c)
                  + fx * neighbour(input, x + 1, y, w, h, channels, c);
        u32 lower = (ONE - fx) * neighbour(input, x, y + 1, w, h, channels, c)
                  + fx * neighbour(input, x + 1, y + 1, w, h, channels, c);
        output[to + c] = (u8)(((ONE - fy) * upper + fy * lower + (1u << 19)) >> 20);
    }
}
