//! A small seeded generator, so that a seed repeats what a test decides.

/// Numbers that follow from a seed (xorshift).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Of the seed that `CROSSDOCK_SEED` gives, else of a new one; prints it with the test's name.
    pub fn new(test: &str) -> Random {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let given = std::env::var("CROSSDOCK_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| now.map_or(1, |now| now.as_nanos() as u64));
        println!("{test}: CROSSDOCK_SEED={seed}");
        Random::of_seed(seed)
    }

    /// Of this seed.
    pub fn of_seed(seed: u64) -> Random {
        // Zero would stay zero.
        Random(seed | 1)
    }

    /// The next number; never 0.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
}
