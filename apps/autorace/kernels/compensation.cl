/* Image compensation of rgb8 pictures; specified at the head of compensation.rs, equal bit by bit. In this
   order: clear_bins, count_levels, stretch_levels, look_up. All groups have GROUP items. */
#define GROUP 256u
#define LEVELS 256u
/* Pixels that one item counts. */
#define SHARE 16u
/* Smallest brightness range that is stretched. */
#define RANGE_MIN 16u

/* Histogram of luma over all pixels: one item per level. */
XD_KERNEL clear_bins(XD_OUT(bins)) {
    XD_WRITE(u32, bins);
    if (XD_X < LEVELS) bins[XD_X] = 0;
}

/* Each group counts GROUP * SHARE pixels in its own memory and adds up what it found: in which order does not
   matter to whole numbers. */
XD_KERNEL count_levels(XD_IN(input), XD_OUT(bins), u32 pixels) {
    XD_READ(u8, input);
    XD_WRITE(u32, bins);
    XD_SHARED u32 part[LEVELS];
    part[XD_LOCAL_X] = 0;
    XD_BARRIER();
    u32 pixel = XD_GROUP_X * GROUP * SHARE + XD_LOCAL_X;
    for (u32 i = 0; i < SHARE; i++, pixel += GROUP) {
        if (pixel < pixels) {
            const XD_GLOBAL u8 *p = input + (u64)pixel * 3;
            u32 luma = (77u * p[0] + 150u * p[1] + 29u * p[2] + 128u) >> 8;
            XD_ATOMIC_ADD(&part[luma], 1u);
        }
    }
    XD_BARRIER();
    u32 found = part[XD_LOCAL_X];
    if (found) XD_ATOMIC_ADD(&bins[XD_LOCAL_X], found);
}

/* One group: the range and the table of the levels. The first level whose running count exceeds the cut is the
   only one that exceeds it while the one before does not. */
XD_KERNEL stretch_levels(XD_IN(bins), XD_OUT(table), u32 cut) {
    XD_READ(u32, bins);
    XD_WRITE(u8, table);
    XD_SHARED u32 part[LEVELS];
    XD_SHARED u32 range[2];
    u32 level = XD_LOCAL_X;
    part[level] = bins[level];
    if (level == 0) {
        range[0] = 0;
        range[1] = 255;
    }
    XD_BARRIER();
    u32 below = 0, above = 0;
    for (u32 i = 0; i < level; i++) below += part[i];
    for (u32 i = level + 1; i < LEVELS; i++) above += part[i];
    if (below <= cut && below + part[level] > cut) range[0] = level;
    if (above <= cut && above + part[level] > cut) range[1] = level;
    XD_BARRIER();
    u32 low = range[0], high = range[1];
    if (high < low + RANGE_MIN) {
        low = 0;
        high = 255;
    }
    u32 value;
    if (level <= low) value = 0;
    else if (level >= high) value = 255;
    else value = ((level - low) * 255 + (high - low) / 2) / (high - low);
    table[level] = (u8)value;
}

/* One item per byte. */
XD_KERNEL look_up(XD_IN(input), XD_IN(table), XD_OUT(output), u32 bytes) {
    XD_READ(u8, input);
    XD_READ(u8, table);
    XD_WRITE(u8, output);
    if (XD_X < bytes) output[XD_X] = table[input[XD_X]];
}
