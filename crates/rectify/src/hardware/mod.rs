//! Tables for modules in hardware: memories with their contents, in SystemVerilog, and which rows
//! of a picture places need. Set-up code.

mod place_steps;

pub use place_steps::{PlaceSteps, PlaceStepsError};

use crate::FRACTION_BITS;
use std::fmt::Write as _;

/// The head of a file with tables: `what` it is, the `command` that makes it, the `source` that
/// says how, and a package `name` with these constants.
pub fn head(
    what: &str,
    [command, source]: [&str; 2],
    name: &str,
    constants: impl IntoIterator<Item = (&'static str, String)>,
) -> String {
    let mut text = format!(
        "// What {what} is made with. Generated: `{command}`; see\n// {source}.\n\
         /* verilator lint_off DECLFILENAME */\n`default_nettype none\n\npackage {name};\n"
    );
    for (name, value) in constants {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(text, "  localparam int unsigned {name} = {value};");
    }
    text + "endpackage\n\n"
}

/// The end of a file with tables.
pub const TAIL: &str = "/* verilator lint_on DECLFILENAME */\n`default_nettype wire\n";

/// Numbers behind each other, the first one lowest, in hexadecimal digits. Each has so many bits,
/// at most 60, and is cut to them: one below 0 has its sign.
pub fn word(parts: impl IntoIterator<Item = (i64, u32)>) -> String {
    let mut digits = Vec::new();
    let (mut held, mut count) = (0_u64, 0);
    for (number, bits) in parts {
        held |= ((number as u64) & ((1 << bits) - 1)) << count;
        count += bits;
        while count >= 4 {
            digits.push(held as u32 & 15);
            held >>= 4;
            count -= 4;
        }
    }
    digits.push(held as u32);
    let digits = digits.into_iter().rev().filter_map(|digit| char::from_digit(digit, 16));
    let text: String = digits.collect();
    let short = text.trim_start_matches('0');
    if short.is_empty() { "0".to_owned() } else { short.to_owned() }
}

/// A module `name` that gives the word of a number a cycle later, `about` it in a comment. The
/// words are hexadecimal digits of so many bits.
pub fn memory(
    about: &str,
    name: &str,
    bits: u32,
    words: impl ExactSizeIterator<Item = String>,
) -> String {
    let count = words.len();
    let index = usize::BITS - (count.max(2) - 1).leading_zeros();
    let mut text = format!(
        "// {about}\nmodule {name} (\n  input  wire        clk,\n  input  wire  [{}:0] index,\n  output \
         logic [{}:0] word\n);\n  logic [{}:0] w [{count}];\n  initial begin\n",
        index - 1,
        bits - 1,
        bits - 1
    );
    for (number, word) in words.enumerate() {
        let _ = writeln!(text, "w[{number}]={bits}'h{word};");
    }
    text + "  end\n  always_ff @(posedge clk) word <= w[index];\nendmodule\n\n"
}

/// The rows of a raw picture of the size `(width, height)` that places in units of 1 / 1024 pixel
/// need: how many have to be there, and the first one that is used; 0 and `height` if none is.
pub fn rows_needed(
    places: impl IntoIterator<Item = [i64; 2]>,
    (width, height): (usize, usize),
) -> (usize, usize) {
    let reaches = |first: i64, side: usize| first >= -1 && first < side as i64;
    let (mut need, mut keep) = (0, height);
    for [x, y] in places {
        let [left, top] = [x >> FRACTION_BITS, y >> FRACTION_BITS];
        if reaches(left, width) && reaches(top, height) {
            need = need.max((top + 2).min(height as i64) as usize);
            keep = keep.min(top.max(0) as usize);
        }
    }
    (need, keep)
}

/// Given the rows that each row of a picture needs ([`rows_needed`]): sets the first one of each to
/// what it and all rows behind it use, and gives the rows that are kept at once.
pub fn band_of(rows: &mut [(usize, usize)]) -> usize {
    let mut first = usize::MAX;
    for (_, keep) in rows.iter_mut().rev() {
        first = first.min(*keep);
        *keep = first;
    }
    rows.iter().map(|(need, keep)| need.saturating_sub(*keep)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{band_of, memory, rows_needed, word};

    #[test]
    fn numbers_stand_behind_each_other_with_their_signs() {
        assert_eq!(word([(-1, 3), (2, 3), (5, 25)]), "157");
        assert_eq!(word([(0, 6)]), "0");
        assert_eq!(word([(-1, 1), (0, 60), (1, 3)]), "2000000000000001");
    }

    #[test]
    fn a_memory_has_an_index_that_reaches_its_last_word() {
        let text = memory("Words.", "words", 7, [word([(5, 7)]), word([(-1, 7)])].into_iter());
        assert!(text.contains("[0:0] index") && text.contains("w[1]=7'h7f;"), "{text}");
        let five = (0..5).map(|it| word([(it, 3)]));
        let text = memory("Words.", "words", 3, five.collect::<Vec<_>>().into_iter());
        assert!(text.contains("[2:0] index") && text.contains("logic [2:0] w [5];"), "{text}");
    }

    #[test]
    fn rows_are_those_of_places_with_a_neighbour_in_the_picture() {
        let at = |x: f64, y: f64| [(x * 1024.0) as i64, (y * 1024.0) as i64];
        assert_eq!(rows_needed([at(1.0, 2.5), at(3.5, 4.0)], (4, 9)), (6, 2));
        // The last row, one above the picture, and places that have no neighbour.
        assert_eq!(rows_needed([at(0.0, 8.5), at(0.0, -0.5), at(4.0, 3.0)], (4, 9)), (9, 0));
        assert_eq!(rows_needed([at(-1.5, 3.0), at(1.0, 9.0)], (4, 9)), (0, 9));
        let mut rows = [(3, 1), (0, 9), (6, 2), (5, 4)];
        assert_eq!(band_of(&mut rows), 4);
        assert_eq!(rows.map(|it| it.1), [1, 2, 2, 4]);
    }
}
