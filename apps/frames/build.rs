//! Writes Rust for the message types of `interfaces`.

use crossdock_msg::generate::Generator;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=interfaces");
    let mut generator = Generator::new();
    generator.add_folder("interfaces".as_ref())?;
    generator.write(std::env::var("OUT_DIR")?.as_ref())?;
    Ok(())
}
