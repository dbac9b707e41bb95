//! The experiment for people.

use super::peer;
use super::row::Row;
use crate::conditions::Conditions;
use crate::options::FramesOptions;
use std::fmt::Write as _;

/// The page.
pub(super) fn page(rows: &[Row], conditions: &Conditions, options: &FramesOptions) -> String {
    let FramesOptions { transport, frames, warm_up, ahead, .. } = options;
    let mut text = format!(
        "# Frames from node to node on a device\n\nOne node draws frames of 4 bytes per pixel, another one copies them to \
         where a window would have them; {frames} frames after {warm_up}, {ahead} on their way at once, {transport}. One \
         frame of each case was compared with what a processor draws. {}\n\n\
         Drawn and shown: with the kernel and the copy. Handed over: no pixel is written, which leaves the way from node to \
         node and back. Way: from lending a frame's memory until the renderer has heard that it was shown, with the \
         frames before it. Published: {}; its frames are drawn by another program, on another device.\n\n\
         | frames | model | | frames per second | us from frame to frame | way, us: median | p99 | copied per frame, bytes | \
         published, frames per second |\n|---|---|---|---|---|---|---|---|---|\n",
        conditions.sentence(),
        peer::SOURCE
    );
    for row in rows {
        let published = row.published().map_or("-".to_owned(), |fps| fps.to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {} | {published} |",
            row.case.size.word,
            row.case.model,
            row.case.work(),
            row.fps(),
            row.frame_us(),
            row.figures.median_ns as f64 / 1e3,
            row.figures.p99_ns as f64 / 1e3,
            row.copied_bytes_per_frame()
        );
    }
    text
}

/// A row for a terminal.
pub(super) fn terminal(row: &Row) -> String {
    format!(
        "{:<48} {:>9.1} per second, {:>9.1} us each, {} bytes copied\n",
        row.case.to_string(),
        row.fps(),
        row.frame_us(),
        row.copied_bytes_per_frame()
    )
}
