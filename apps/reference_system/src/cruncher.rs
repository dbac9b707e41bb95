//! The number cruncher: work of a fixed amount, whatever the machine.
//!
//! The caller measures how long the work takes.

use std::hint::black_box;

/// How many primes there are up to and with `limit`. Each candidate is divided by every smaller
/// number from 2 on until one divides it, as the reference system has it: the point is the work.
///
/// Does not block or allocate.
#[must_use]
pub fn primes(limit: u64) -> i64 {
    let mut primes = 0;
    for candidate in 2..=limit {
        let is_prime = !(2..candidate).any(|divisor| candidate % divisor == 0);
        primes += i64::from(black_box(is_prime));
    }
    primes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_primes_are_found_as_there_are() {
        let known = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (10, 4), (100, 25), (4096, 564)];
        for (limit, expected) in known {
            assert_eq!(primes(limit), expected, "up to {limit}");
        }
    }
}
