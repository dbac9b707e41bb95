/* The lane planner's masks and bird's-eye view; specified at the heads of lane_view.rs and hsv.rs, equal bit by
   bit. In this order, after rectification: colours, stand_out, warp. */
#define WHITE 1
#define YELLOW 2
#define UNSEEN 4
#define OUTSIDE 0xffffffffu

/* `range` is low and high h, s, v. */
XD_DEVICE i32 contains(const XD_GLOBAL u8 *range, u32 h, u32 s, u32 v) {
    i32 hue = range[0] <= range[3] ? range[0] <= h && h <= range[3] : h >= range[0] || h <= range[3];
    return hue && range[1] <= s && s <= range[4] && range[2] <= v && v <= range[5];
}

/* `tables` holds S and T of the HSV conversion, `ranges` those of yellow and white. For each pixel its value,
   and its classes as far as the colour alone says them. */
XD_KERNEL colours(XD_IN(input), XD_IN(tables), XD_IN(ranges), XD_OUT(values), XD_OUT(classes), u32 pixels) {
    XD_READ(u8, input);
    XD_READ(i32, tables);
    XD_READ(u8, ranges);
    XD_WRITE(u8, values);
    XD_WRITE(u8, classes);
    if (XD_X >= pixels) return;
    i32 r = input[XD_X * 3], g = input[XD_X * 3 + 1], b = input[XD_X * 3 + 2];
    i32 v = r > g ? r : g, least = r < g ? r : g;
    if (b > v) v = b;
    if (b < least) least = b;
    i32 d = v - least;
    i32 s = (d * tables[v] + 2048) >> 12;
    i32 sector = v == r ? g - b : v == g ? b - r + 2 * d : r - g + 4 * d;
    i32 h = (sector * tables[256 + d] + 2048) >> 12;
    if (h < 0) h += 180;
    u32 found = 0;
    if (contains(ranges, (u8)h, (u8)s, (u8)v)) found |= YELLOW;
    if (contains(ranges + 6, (u8)h, (u8)s, (u8)v)) found |= WHITE;
    values[XD_X] = (u8)v;
    classes[XD_X] = (u8)found;
}

/* Whether `v` exceeds the mean of the pixels from `from` to before `to` of a row by `contrast`. */
XD_DEVICE i32 exceeds(const XD_GLOBAL u8 *row, u32 v, u32 from, u32 to, u32 contrast) {
    if (to <= from) return 1;
    u32 sum = 0;
    for (u32 x = from; x < to; x++) sum += row[x];
    return v * (to - from) >= sum + contrast * (to - from);
}

/* `windows` holds inner and outer of each row. White stays where it stands out of its row. */
XD_KERNEL stand_out(XD_IN(windows), XD_IN(values), XD_OUT(classes), u32 width, u32 rows, u32 contrast) {
    XD_READ(u32, windows);
    XD_READ(u8, values);
    XD_WRITE(u8, classes);
    if (XD_X >= width || XD_Y >= rows) return;
    u32 x = XD_X, at = XD_Y * width + x;
    if (!(classes[at] & WHITE)) return;
    u32 inner = windows[XD_Y * 2], outer = windows[XD_Y * 2 + 1];
    const XD_GLOBAL u8 *row = values + (u64)XD_Y * width;
    u32 v = row[x];
    u32 left = x > outer ? x - outer : 0, left_end = x + 1 > inner ? x + 1 - inner : 0;
    u32 right = x + inner < width ? x + inner : width;
    u32 right_end = x + outer + 1 < width ? x + outer + 1 : width;
    if (exceeds(row, v, left, left_end, contrast) && exceeds(row, v, right, right_end, contrast)) return;
    classes[at] = (u8)(classes[at] & ~WHITE);
}

/* `sources` holds the front pixel of each pixel of the view. */
XD_KERNEL warp(XD_IN(sources), XD_IN(classes), XD_OUT(output), u32 pixels) {
    XD_READ(u32, sources);
    XD_READ(u8, classes);
    XD_WRITE(u8, output);
    if (XD_X >= pixels) return;
    u32 from = sources[XD_X];
    output[XD_X] = from == OUTSIDE ? (u8)UNSEEN : classes[from];
}
