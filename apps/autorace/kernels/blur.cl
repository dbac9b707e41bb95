/* 5 x 5 Gaussian blur of 8-bit pictures; specified at the head of blur.rs, equal bit by bit. One item per pixel. */

XD_DEVICE u32 clamped(u32 at, i32 by, u32 end) {
    i32 to = (i32)at + by;
    if (to < 0) return 0;
    return to >= (i32)end ? end - 1 : (u32)to;
}

XD_DEVICE u32 weight(i32 by) {
    return by == 0 ? 6u : (by == 1 || by == -1) ? 4u : 1u;
}

XD_KERNEL blur(XD_IN(input), XD_OUT(output), u32 width, u32 height, u32 channels) {
    XD_READ(u8, input);
    XD_WRITE(u8, output);
    if (XD_X >= width || XD_Y >= height) return;
    for (u32 c = 0; c < channels; c++) {
        u32 sum = 128;
        for (i32 dy = -2; dy <= 2; dy++) {
            u32 row = clamped(XD_Y, dy, height) * width;
            for (i32 dx = -2; dx <= 2; dx++) {
                u32 from = row + clamped(XD_X, dx, width);
                sum += weight(dx) * weight(dy) * input[from * channels + c];
            }
        }
        output[(XD_Y * width + XD_X) * channels + c] = (u8)(sum >> 8);
    }
}
