//! `codec`: measures conversions between the flat layout and CDR beside `memcpy`; writes
//! `codec.json`.

use crossdock_bench::Failure;
use crossdock_bench::codec::{Conversion, cloud, image, measure};
use crossdock_bench::findings::{Cell, Findings, Table, run_command};
use crossdock_bench::machine::pin;
use crossdock_msg::types::sensor_msgs::{Image, PointCloud2};
use std::process::ExitCode;

/// Rounds of each size: some seconds in all.
const ROUNDS: usize = 301;

/// Bytes of the large array.
const SIZES: [(&str, usize); 3] =
    [("1 MiB", 1 << 20), ("6.2 MB (1920 x 1080)", 1920 * 1080 * 3), ("32 MiB", 32 << 20)];

/// What is to be reached.
const RATIO: f64 = 1.1;
const HEAD_NS: f64 = 30.0;

fn main() -> ExitCode {
    run_command(|_| run())
}

fn run() -> Result<Findings, Failure> {
    let mut found = Findings::new("codec", "Flat layout and CDR")?;
    pin(0)?;
    let mut table = Table::new(
        "Conversions, medians beside memcpy of the encoding in the same rounds",
        &[
            "message",
            "memcpy us",
            "encode",
            "decode",
            "encode, any type",
            "decode, any type",
            "head ns",
        ],
    );
    for (size, bytes) in SIZES {
        let conversions = [
            measure::<Image>(&format!("Image {size}"), || image(bytes), ROUNDS),
            measure::<PointCloud2>(&format!("PointCloud2 {size}"), || cloud(bytes), ROUNDS),
        ];
        for conversion in conversions {
            row(&mut table, &mut found, &conversion);
        }
    }
    found.table(table);
    found.note("decode looks through the CDR for the size of the message, and then decodes it");
    Ok(found)
}

fn row(table: &mut Table, found: &mut Findings, conversion: &Conversion) {
    let (flat, cdr) = (conversion.copy_flat.p50_ns(), conversion.copy_cdr.p50_ns());
    let ratios = [
        conversion.encode.p50_ns() / flat,
        conversion.decode.p50_ns() / cdr,
        conversion.encode_any.p50_ns() / flat,
        conversion.decode_any.p50_ns() / cdr,
    ];
    let what = &conversion.what;
    let head = conversion.head_ns;
    let cells = [Cell::from(what.as_str()), Cell::from(cdr / 1e3)];
    let cells = cells.into_iter().chain(ratios.map(Cell::from)).chain([Cell::from(head)]);
    table.row(cells);
    found.target(format!("{what}: encode / memcpy"), ratios[0], RATIO, "");
    found.target(format!("{what}: decode / memcpy"), ratios[1], RATIO, "");
    if what.starts_with("Image") {
        found.target(format!("{what}: head"), head, HEAD_NS, "ns");
    }
}
