//! What the processors' packages take, where the kernel lets this process read it (RAPL).

use std::fs;
use std::path::{Path, PathBuf};

/// Where Linux shows the counters.
const FOLDER: &str = "/sys/class/powercap";
/// One counter per package; their parts have a further number.
const PACKAGE: &str = "intel-rapl:";
/// Packages that are looked for at most.
const PACKAGES_MAX: u32 = 8;

/// The counters of all packages.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    packages: Vec<PathBuf>,
}

impl Meter {
    /// Those that can be read. Makes system calls.
    #[must_use]
    pub fn open() -> Self {
        let packages = (0..PACKAGES_MAX).filter_map(|number| {
            let folder = PathBuf::from(FOLDER).join(format!("{PACKAGE}{number}"));
            let counter = folder.join("energy_uj");
            number_in(&counter).map(|_| counter)
        });
        Self { packages: packages.collect() }
    }

    /// The sum of all counters, microjoules; `None`: not readable here. Makes system calls.
    #[must_use]
    pub fn read_uj(&self) -> Option<u64> {
        let counters = self.packages.iter().map(|counter| number_in(counter));
        let sum = counters.sum::<Option<u64>>()?;
        (!self.packages.is_empty()).then_some(sum)
    }

    /// What was taken since then, microjoules, unless a counter has begun again.
    #[must_use]
    pub fn since_uj(&self, then: Option<u64>) -> Option<u64> {
        self.read_uj()?.checked_sub(then?)
    }
}

fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}
