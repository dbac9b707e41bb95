//! Kernels: their source, which is the same for all devices, and what they are called with.

use crate::device::Span;

/// What every source begins with: one language for all devices.
const PRELUDE: &str = include_str!("prelude.h");

/// The source of some kernels, in the language of `prelude.h`.
#[derive(Clone, Copy, Debug)]
pub struct KernelSource<'a> {
    /// Where it is from, for errors: a file's name.
    pub label: &'a str,
    /// The text, without the prelude.
    pub text: &'a str,
}

impl KernelSource<'_> {
    /// What a compiler is given: the prelude, and the text under its label, so that its words name
    /// the line of the text.
    pub(crate) fn whole(&self) -> String {
        let mut label = String::with_capacity(self.label.len());
        for letter in self.label.chars() {
            match letter {
                '"' | '\\' => label.extend(['\\', letter]),
                letter if letter.is_control() => label.push('?'),
                letter => label.push(letter),
            }
        }
        format!("{PRELUDE}\n#line 1 \"{label}\"\n{}", self.text)
    }
}

/// How many work items run, in up to three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Items that there is work for; the launch is rounded up to whole groups.
    pub items: [u32; 3],
    /// Items of one group.
    pub group: [u32; 3],
}

impl Grid {
    /// `items` in one dimension, in groups of `group`.
    pub const fn line(items: u32, group: u32) -> Self {
        Self { items: [items, 1, 1], group: [group, 1, 1] }
    }

    /// `width` x `height` items in groups of `group`.
    pub const fn plane(width: u32, height: u32, group: [u32; 2]) -> Self {
        Self { items: [width, height, 1], group: [group[0], group[1], 1] }
    }

    /// Items that are launched in each dimension: whole groups.
    pub(crate) fn launched(&self) -> [usize; 3] {
        std::array::from_fn(|axis| {
            let group = self.group[axis].max(1) as usize;
            (self.items[axis] as usize).div_ceil(group) * group
        })
    }
}

/// One argument of a kernel, in the order of its parameters.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// Memory that the kernel reads: its `XD_IN`.
    In(Span<'a>),
    /// Memory that the kernel writes, and may read: its `XD_OUT`.
    Out(Span<'a>),
    /// A number.
    U32(u32),
    /// A number.
    I32(i32),
    /// A number.
    F32(f32),
    /// A number.
    U64(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_its_line_nor_its_quotes() {
        let source = KernelSource { label: "a\"b\\\n#error", text: "int x;" };
        assert!(source.whole().ends_with("\n#line 1 \"a\\\"b\\\\?#error\"\nint x;"));
    }

    #[test]
    fn grids_are_rounded_up_to_whole_groups() {
        assert_eq!(Grid::line(1000, 64).launched(), [1024, 1, 1]);
        assert_eq!(Grid::plane(640, 479, [16, 16]).launched(), [640, 480, 1]);
        assert_eq!(Grid::line(0, 64).launched(), [0, 1, 1]);
    }
}
