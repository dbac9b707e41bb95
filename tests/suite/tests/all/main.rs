//! The tests of the whole as one program: one is built and linked faster than many, and its tests
//! share the processors to the end.
#![allow(missing_docs)]

mod architecture;
mod bench;
mod command;
mod documentation;
mod documented_commands;
mod driving;
mod fabrics;
mod first_hours;
mod generate;
mod hour;
mod long_recordings;
mod map;
mod pacing;
mod recording;
mod sight;
