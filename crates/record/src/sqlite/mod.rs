//! Reads rosbag2 bags in SQLite files (.db3).
//!
//! Only pages are read: the tables `topics`, `message_definitions` and `messages`, row by row. No
//! statement is ever executed, so that triggers, views and attached files in a bag mean nothing,
//! and a damaged page costs only its own rows. Nothing is written, neither in the file nor beside
//! it: a write-ahead log or a rollback journal that an interrupted recorder has left is read.

mod cell;
mod index;
mod journal;
mod pages;
mod rows;
mod tables;

pub(crate) use index::{RowIndex, SqliteBag, index};
pub(crate) use pages::{Pages, SQLITE_MAGIC};
