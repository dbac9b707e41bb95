//! A closed course, seen by a camera on a small vehicle: geometry, lights, pictures, motion.
//!
//! Everything is computed by this code from a seed; nothing is loaded. Arithmetic is integer or
//! `+ - * / sqrt` on f64 with the sine of [`crate::trig`], so pictures and paths have the same
//! bits on every machine. Knows no message type and no clock.

pub mod buildings;
pub mod course;
pub mod drive;
pub mod lights;
pub mod raster;
pub mod renderer;
pub mod texture;
pub mod vehicle;
pub mod wheels;
