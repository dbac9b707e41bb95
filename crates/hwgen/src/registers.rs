//! A host's way to the registers of a board: the bridge, and the words of each clock behind it.
//! Only wires and instances of library modules. Must not decide what a register means.

use crate::board::{pairs, register_signals};
use crate::library::{LibraryModule, Parameter};
use crate::names::within;
use crate::network::{CONTROL_ADDRESS, Clock, Network, Register};
use crate::standing;
use crate::verilog::{Body, signals};

/// Bits of a request beside its 64 of data: number of the word, and whether it is written.
const REQUEST_BITS: u32 = 64 + 1 + 13;
/// Beats that a crossing holds. One request is under way at any time.
const CROSSING_BEATS: u64 = 4;

fn is_written(register: &&Register) -> bool {
    register.access == "write"
}

/// The clocks that have words, the fabric's own first.
fn clocks<'a>(network: &'a Network, registers: &[Register]) -> Vec<&'a Clock> {
    let has = |clock: &&Clock| registers.iter().any(|register| register.clock == clock.clk());
    let own = network.clocks.iter().filter(|clock| clock.name.is_none());
    own.chain(network.clocks.iter().filter(|clock| clock.name.is_some()).filter(has)).collect()
}

/// The bridge with all words behind it, and the wires to the host port. Returns the clock that the
/// host port has to have.
pub(crate) fn registers(body: &mut Body, network: &Network, registers: &[Register]) -> String {
    let clocks = clocks(network, registers);
    wires(body, clocks.len() as u32);
    let asks = ["rst_host", "busy_registers", "s_axil_awvalid", "s_axil_wvalid", "s_axil_arvalid"];
    let clk = standing::ticks(body, "clk", "registers", &asks.map(str::to_owned));
    body.line("");
    let of_host = register_signals().map(|(signal, ..)| format!("s_axil_{signal}"));
    let mut connections = vec![("clk".to_owned(), clk.clone())];
    connections.extend(pairs(&["rst"]));
    connections.extend(of_host.map(|name| (name.clone(), name)));
    connections.extend(pairs(&[
        "register_address",
        "register_write",
        "register_write_data",
        "register_read_data",
        "word_number",
        "word_write",
        "word_data",
        "word_valid",
        "word_ready",
        "answer_data",
        "answer_valid",
        "answer_ready",
    ]));
    connections.push(("busy".to_owned(), "busy_registers".to_owned()));
    let written = registers.iter().filter(is_written).count();
    let number = |value: usize| Parameter::Number(value as u64);
    let parameters = [
        ("STATUS", number(registers.len() - written)),
        ("CONTROL", number(written)),
        ("CLOCKS", number(clocks.len())),
    ];
    body.instance(LibraryModule::RegisterBridge, "u_registers", &parameters, &connections);
    for (place, clock) in clocks.iter().enumerate() {
        match clock.name {
            None => own_words(body, registers, clock, (place, &clk)),
            Some(_) => other_words(body, registers, clock, place),
        }
    }
    if clocks.len() > 1 {
        for register in registers.iter().filter(is_written) {
            let low = (register.address - CONTROL_ADDRESS) * 8;
            let bits = format!("[{low} +: 64]");
            body.line(&format!("  assign control{bits} = {}{bits};", control_of(&register.clock)));
        }
        body.line("");
    }
    clk
}

/// The wires between the bridge, the host port and the words of so many clocks.
fn wires(body: &mut Body, count: u32) {
    for (bits, name) in [
        (Some(12), "register_address"),
        (None, "register_write"),
        (Some(64), "register_write_data"),
        (Some(64), "register_read_data"),
        (Some(13), "word_number"),
        (None, "word_write"),
        (Some(64), "word_data"),
        (Some(count), "word_valid"),
        (Some(count), "word_ready"),
        (Some(64 * count), "answer_data"),
        (Some(count), "answer_valid"),
        (Some(count), "answer_ready"),
        (None, "busy_registers"),
    ] {
        body.wire(bits, name);
    }
}

/// The words of the fabric's own clock.
fn own_words(body: &mut Body, registers: &[Register], clock: &Clock, (place, clk): (usize, &str)) {
    let to = |port: &str, to: String| (port.to_owned(), to);
    let connections = [
        to("clk", clk.to_owned()),
        to("rst", clock.rst()),
        to("restart", clock.restart()),
        to("request_number", "word_number".to_owned()),
        to("request_write", "word_write".to_owned()),
        to("request_data", "word_data".to_owned()),
        to("request_valid", format!("word_valid[{place}]")),
        to("request_ready", format!("word_ready[{place}]")),
        to("answer_data", format!("answer_data[{} +: 64]", 64 * place)),
        to("answer_valid", format!("answer_valid[{place}]")),
        to("answer_ready", format!("answer_ready[{place}]")),
    ];
    words(body, registers, clock, &connections);
}

/// The words of another clock, behind a crossing in each direction.
fn other_words(body: &mut Body, registers: &[Register], clock: &Clock, place: usize) {
    let name = clock.clk();
    let [there, back] = ["requests", "answers"].map(|what| within(what, &name));
    let [asked, told] = ["asked", "told"].map(|what| within(what, &name));
    for (stream, width) in [(&there, 128), (&asked, 128), (&told, 64), (&back, 64)] {
        body.stream(width, stream);
    }
    let zeros = 128 - REQUEST_BITS;
    for line in [
        format!("{there}_tdata = {{{zeros}'d0, word_number, word_write, word_data}}"),
        format!("{there}_tvalid = word_valid[{place}]"),
        format!("word_ready[{place}] = {there}_tready"),
        format!("answer_data[{} +: 64] = {back}_tdata", 64 * place),
        format!("answer_valid[{place}] = {back}_tvalid"),
        format!("{back}_tready = answer_ready[{place}]"),
    ] {
        body.line(&format!("  assign {line};"));
    }
    for (stream, width) in [(&there, 128), (&told, 64)] {
        for (signal, value) in
            [("tkeep", format!("{}'d0", width / 8)), ("tlast", "1'b1".to_owned())]
        {
            body.line(&format!("  assign {stream}_{signal} = {value};"));
        }
        body.line(&format!("  assign {stream}_tuser = 1'b0;"));
    }
    body.line(&format!(
        "  wire {} = &{{1'b0, {asked}_tdata[127:{REQUEST_BITS}], {asked}_tkeep, \
         {asked}_tlast, {asked}_tuser,\n      {back}_tkeep, {back}_tlast, {back}_tuser}};",
        within("unused", &name)
    ));
    let own = Clock { name: None };
    crossing(body, 128, (&own, &there), (clock, &asked));
    crossing(body, 64, (clock, &told), (&own, &back));
    let to = |port: &str, to: String| (port.to_owned(), to);
    let connections = [
        to("clk", name),
        to("rst", clock.rst()),
        to("restart", clock.restart()),
        to("request_number", format!("{asked}_tdata[65 +: 13]")),
        to("request_write", format!("{asked}_tdata[64]")),
        to("request_data", format!("{asked}_tdata[63:0]")),
        to("request_valid", format!("{asked}_tvalid")),
        to("request_ready", format!("{asked}_tready")),
        to("answer_data", format!("{told}_tdata")),
        to("answer_valid", format!("{told}_tvalid")),
        to("answer_ready", format!("{told}_tready")),
    ];
    words(body, registers, clock, &connections);
}

fn crossing(
    body: &mut Body,
    width: u32,
    (from_clock, from): (&Clock, &str),
    (to_clock, to): (&Clock, &str),
) {
    let mut connections = Vec::new();
    for (side, clock, stream) in [("s", from_clock, from), ("m", to_clock, to)] {
        connections.push((format!("{side}_clk"), clock.clk()));
        connections.push((format!("{side}_rst"), clock.rst()));
        for (signal, _) in signals(width) {
            connections.push((format!("{side}_axis_{signal}"), format!("{stream}_{signal}")));
        }
    }
    let parameters =
        [("WIDTH", Parameter::Number(width.into())), ("DEPTH", Parameter::Number(CROSSING_BEATS))];
    body.instance(LibraryModule::AxisCdc, &format!("u_{to}"), &parameters, &connections);
}

/// The words that are written in this clock, if others are written in another one.
fn control_of(clk: &str) -> String {
    within("control", clk)
}

/// The words of a clock, with the constants that say which ones these are.
fn words(body: &mut Body, registers: &[Register], clock: &Clock, connections: &[(String, String)]) {
    let name = clock.clk();
    let (control, reads): (Vec<_>, Vec<_>) = registers.iter().partition(is_written);
    let bits = reads.iter().rev().map(|register| if register.clock == name { '1' } else { '0' });
    let bits: String = bits.collect();
    // What is kept of a word, and what it holds after a reset.
    let kept = |register: &&Register| match register.clock == name {
        true => !0_u64 >> (64 - register.bits.clamp(1, 64)),
        false => 0,
    };
    let reset = |register: &&Register| register.reset();
    let list = |value: &dyn Fn(&&Register) -> u64| {
        let words = control.iter().rev().map(|register| format!("64'h{:x}", value(register)));
        let words = words.collect::<Vec<_>>().join(", ");
        if words.is_empty() { "64'h0".to_owned() } else { format!("{{{words}}}") }
    };
    let others = registers.iter().any(|register| register.clock != name);
    let driven = match (control.is_empty(), others) {
        (true, _) => String::new(),
        (false, false) => "control".to_owned(),
        (false, true) => control_of(&name),
    };
    if !control.is_empty() && others {
        body.wire(Some(64 * control.len() as u32), &driven);
        body.line(&format!("  wire unused_{driven} = &{{1'b0, {driven}}};"));
    }
    let to = |port: &str, to: String| (port.to_owned(), to);
    let mut all = connections.to_vec();
    all.extend([
        to("status", "status".to_owned()),
        to("control", driven),
        to("reads", format!("{}'b{bits}", reads.len())),
        to("keeps", list(&kept)),
        to("resets", list(&reset)),
    ]);
    let parameters = [
        ("STATUS", Parameter::Number(reads.len() as u64)),
        ("CONTROL", Parameter::Number(control.len().max(1) as u64)),
    ];
    body.instance(LibraryModule::RegisterWords, &within("u_words", &name), &parameters, &all);
}
