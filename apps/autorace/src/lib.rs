//! Driving on a small course or on a recording: perception, control and a course simulator.
//!
//! The algorithms are plain functions over borrowed pictures; nothing here knows how messages
//! travel. What a hardware twin will have to match bit for bit is integer or fixed-point
//! arithmetic and is specified at the head of its module.
//!
//! What the processor computes on pictures has kernels beside it, with the same bits: module
//! [`gpu`], which alone holds unsafe code.
#![deny(unsafe_code)]

pub mod blur;
pub mod built_in;
pub mod camera;
pub mod compensation;
pub mod control;
pub mod control_setup;
pub mod features;
pub mod gpu;
pub mod hand_over;
pub mod hsv;
pub mod image;
pub mod jpeg;
pub mod lane;
pub mod lane_fit;
pub mod lane_setup;
pub mod lane_view;
pub mod light;
pub mod light_setup;
pub mod messages;
pub mod nodes;
pub mod projection;
pub mod projection_setup;
pub mod recording;
pub mod report;
pub mod score;
pub mod simulator;
pub mod slam;
pub mod slam_score;
pub mod stripe_setup;
pub mod stripes;
pub mod trajectory;
pub mod trig;
