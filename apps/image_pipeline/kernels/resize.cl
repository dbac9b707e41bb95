/* Resizing of 8-bit pictures; specified at the head of resize.rs, equal bit by bit. One item per output pixel. */
#define FRACTION_BITS 10
#define ONE 1024u

/* `positions` holds those of the columns, then those of the rows. */
XD_KERNEL resize_bilinear(XD_IN(positions), XD_IN(input), XD_OUT(output), u32 width, u32 height, u32 to_width,
                          u32 to_height, u32 channels) {
    XD_READ(u32, positions);
    XD_READ(u8, input);
    XD_WRITE(u8, output);
    if (XD_X >= to_width || XD_Y >= to_height) return;
    u32 px = positions[XD_X], py = positions[to_width + XD_Y];
    u32 x = px >> FRACTION_BITS, y = py >> FRACTION_BITS, fx = px & (ONE - 1), fy = py & (ONE - 1);
    u32 right = x + 1 < width ? x + 1 : width - 1, below = y + 1 < height ? y + 1 : height - 1;
    for (u32 c = 0; c < channels; c++) {
        u32 upper = (ONE - fx) * input[(y * width + x) * channels + c]
                  + fx * input[(y * width + right) * channels + c];
        u32 lower = (ONE - fx) * input[(below * width + x) * channels + c]
                  + fx * input[(below * width + right) * channels + c];
        u32 value = ((ONE - fy) * upper + fy * lower + (1u << 19)) >> 20;
        output[(XD_Y * to_width + XD_X) * channels + c] = (u8)value;
    }
}

/* Units that pixel `i` of the picture has in common with pixel `d` of the result, of ratio `from` to `to`. */
XD_DEVICE u32 weight(u32 d, u32 i, u32 from, u32 to) {
    u32 start = i * to > d * from ? i * to : d * from;
    u32 end = (i + 1) * to < (d + 1) * from ? (i + 1) * to : (d + 1) * from;
    return end - start;
}

/* `from_x` and `to_x`, `from_y` and `to_y` are the reduced ratios. */
XD_KERNEL resize_area(XD_IN(input), XD_OUT(output), u32 width, u32 to_width, u32 to_height, u32 from_x, u32 to_x,
                      u32 from_y, u32 to_y, u32 channels) {
    XD_READ(u8, input);
    XD_WRITE(u8, output);
    if (XD_X >= to_width || XD_Y >= to_height) return;
    u32 total = from_x * from_y;
    u32 left = XD_X * from_x / to_x, right = ((XD_X + 1) * from_x + to_x - 1) / to_x;
    u32 top = XD_Y * from_y / to_y, bottom = ((XD_Y + 1) * from_y + to_y - 1) / to_y;
    for (u32 c = 0; c < channels; c++) {
        u32 sum = total / 2;
        for (u32 y = top; y < bottom; y++) {
            u32 high = weight(XD_Y, y, from_y, to_y);
            for (u32 x = left; x < right; x++) {
                sum += high * weight(XD_X, x, from_x, to_x) * input[(y * width + x) * channels + c];
            }
        }
        output[(XD_Y * to_width + XD_X) * channels + c] = (u8)(sum / total);
    }
}
