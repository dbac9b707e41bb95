//! Writes Rust for the message types of `interfaces`.

fn main() {
    crossdock_msg::generate::build(&["interfaces"]);
}
