//! Random graphs with random mappings, as the text of their files.

use std::fmt::Write;

/// Reproducible chance (splitmix64).
pub(crate) struct Random(u64);

/// Types, with the bounds that they need.
const TYPES: [(&str, &str); 5] = [
    ("std_msgs/msg/UInt8", ""),
    ("geometry_msgs/msg/Twist", ""),
    ("std_msgs/msg/Header", "frame_id: 33"),
    ("std_msgs/msg/String", "data: 150"),
    ("sensor_msgs/msg/Image", "data: 500, encoding: 8, header.frame_id: 5"),
];

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// Graph and mapping. `wide`: one topic has more subscribers than one broadcast serves.
    pub(crate) fn network(mut self, fabric: &str, wide: bool) -> (String, String) {
        let nodes = if wide { 22 } else { 3 + self.below(5) };
        let topics = if wide { 1 } else { 1 + self.below(4) };
        let mut ports = vec![(String::new(), String::new()); nodes];
        let mut declared = String::new();
        let mut mapped = String::new();
        for topic in 0..topics {
            self.topic(topic, wide, &mut ports, &mut declared, &mut mapped);
        }
        let mut graph = format!("crossdock: 1\nname: random\ntopics:\n{declared}nodes:\n");
        for (node, (inputs, outputs)) in ports.iter().enumerate() {
            writeln!(
                graph,
                "  n{node}: {{ package: p, type: t, inputs: {{ {inputs} }}, outputs: {{ {outputs} }} }}"
            )
            .expect("text");
        }
        graph += "  host: { package: p, type: t, inputs: {}, outputs: {} }\n";
        let names: Vec<String> = (0..nodes).map(|node| format!("n{node}")).collect();
        let mapping = format!(
            "crossdock: 1\nprocesses: {{ p: {{ executors: [ {{ mode: chain, nodes: [host] }} ] }} }}\n\
             fabrics: {{ {fabric}: {{ nodes: [{}] }} }}\ntopics:\n{mapped}",
            names.join(", ")
        );
        (graph, mapping)
    }

    fn topic(
        &mut self,
        topic: usize,
        wide: bool,
        ports: &mut [(String, String)],
        declared: &mut String,
        mapped: &mut String,
    ) {
        let nodes = ports.len();
        let width = self.pick(&["64", "64", "128", "256", "512"]);
        let (message_type, bounds) = TYPES[self.below(TYPES.len())];
        let gateway = self.percent(35);
        let external = gateway && self.percent(60);
        let publishers = self.some(nodes, if wide { 2 } else { 4 });
        let mut subscribers = self.some(nodes, 5);
        if wide {
            subscribers = (0..nodes).collect();
        } else if self.percent(10) {
            subscribers.clear();
        }
        writeln!(
            declared,
            "  /t{topic}: {{ type: {message_type}, external: {external}, bounds: {{ {bounds} }} }}"
        )
        .expect("text");
        write!(mapped, "  /t{topic}: {{ width: {width}, ").expect("text");
        mapped.push_str(if gateway { "mapping: gateway" } else { "mapping: hardware" });
        for (share, key) in [
            (20, ", clock: fast"),
            (20, ", check: true"),
            (20, ", watchdog_cycles: 5000"),
            (30, ", runtime_enable: true"),
            (30, ", probe: true"),
        ] {
            mapped.push_str(if self.percent(share) { key } else { "" });
        }
        let mut said = Vec::new();
        for node in &publishers {
            write!(ports[*node].1, "o{topic}: /t{topic}, ").expect("text");
            let stream = self.stream(false);
            said.push(format!("n{node}: {{ o{topic}: {{ {stream} }} }}"));
        }
        write!(mapped, ", publishers: {{ {} }}", said.join(", ")).expect("text");
        said.clear();
        for node in &subscribers {
            write!(ports[*node].0, "i{topic}: /t{topic}, ").expect("text");
            // A node that hears a later node or itself has a FIFO: no cycle is without one.
            let back = publishers.iter().any(|publisher| publisher >= node);
            let stream = match (wide && !back, back) {
                (true, _) => String::new(),
                (_, true) => "fifo_messages: 1".to_owned(),
                (_, false) => self.stream(true),
            };
            said.push(format!("n{node}: {{ i{topic}: {{ {stream} }} }}"));
        }
        write!(mapped, ", subscribers: {{ {} }}", said.join(", ")).expect("text");
        if gateway {
            let stream = self.stream(true);
            write!(mapped, ", gateway: {{ {stream} }}").expect("text");
        }
        mapped.push_str(" }\n");
    }

    /// At least one and at most `most` different nodes.
    fn some(&mut self, nodes: usize, most: usize) -> Vec<usize> {
        let count = 1 + self.below(most);
        let mut some: Vec<usize> = (0..count).map(|_| self.below(nodes)).collect();
        some.sort_unstable();
        some.dedup();
        some
    }

    fn stream(&mut self, subscribes: bool) -> String {
        let mut keys = Vec::new();
        if self.percent(25) {
            let width = self.pick(&["64", "128", "256", "512"]);
            keys.push(format!("width: {width}, converter: true"));
        }
        if self.percent(15) {
            let clock = self.pick(&["fast", "slow"]);
            keys.push(format!("clock: {clock}"));
        }
        if self.percent(15) {
            keys.push("probe: true".to_owned());
        }
        if subscribes && self.percent(40) {
            let fifo = ["fifo_beats: 4", "fifo_beats: 64", "fifo_messages: 2", "keep_last: 2"];
            keys.push(self.pick(&fifo).to_owned());
        }
        keys.join(", ")
    }
}
