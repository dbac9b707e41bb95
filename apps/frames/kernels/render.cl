/* The picture of an arm; specified at the head of scene.rs, equal bit by bit. One item per pixel. */
#define STEPS 4096

/* Square of a pixel's distance from the link between two joints. */
XD_DEVICE i32 distance_squared(i32 ax, i32 ay, i32 bx, i32 by, i32 x, i32 y) {
    i32 dx = bx - ax, dy = by - ay, px = x - ax, py = y - ay;
    i32 length = dx * dx + dy * dy, reach = px * dx + py * dy;
    reach = reach < 0 ? 0 : reach > length ? length : reach;
    i32 along = length == 0 ? 0 : (i32)((i64)STEPS * reach / length);
    i32 x_left = px - along * dx / STEPS, y_left = py - along * dy / STEPS;
    return x_left * x_left + y_left * y_left;
}

XD_DEVICE i32 grain(u32 x, u32 y) {
    u32 mixed = x * 0x9e3779b1u ^ y * 0x85ebca77u;
    mixed ^= mixed >> 15;
    return (i32)(mixed * 0x2c1b3c6du >> 29);
}

XD_DEVICE u32 packed(u32 blue, u32 green, u32 red) { return blue | green << 8 | red << 16 | 0xff000000u; }

/* The joints are (x0, y0) to (x3, y3). */
XD_KERNEL render(XD_OUT(frame), u32 width, u32 height, i32 x0, i32 y0, i32 x1, i32 y1, i32 x2, i32 y2, i32 x3, i32 y3,
                 i32 radius, i32 outline) {
    XD_WRITE(u32, frame);
    if (XD_X >= width || XD_Y >= height) return;
    i32 x = (i32)XD_X, y = (i32)XD_Y, inner = radius - outline;
    i32 near_link = distance_squared(x0, y0, x1, y1, x, y), other = distance_squared(x1, y1, x2, y2, x, y);
    near_link = other < near_link ? other : near_link;
    other = distance_squared(x2, y2, x3, y3, x, y);
    near_link = other < near_link ? other : near_link;
    u32 pixel;
    if (near_link <= inner * inner) {
        pixel = packed(200u - 20u * (u32)(((x + y) / (2 * outline)) & 1), 190u, 180u);
    } else if (near_link <= radius * radius) {
        pixel = packed(40u, 36u, 32u);
    } else {
        u32 paper = (u32)(238 - 40 * y / (i32)height - grain(XD_X, XD_Y));
        pixel = packed(paper - 8u, paper - 4u, paper);
    }
    frame[XD_Y * width + XD_X] = pixel;
}
