//! Which keyframes show what a picture shows: an index from parts of descriptors to keyframes.
//!
//! A descriptor has 16 words of 16 bits. Two key points that show the same differ in few bits, so
//! that some of their words are equal. The index lists for each word the keyframes that have it; a
//! word that many keyframes have says little and is left out.

use crate::slam::features::{Descriptor, Seen};

const WORDS: usize = 16;
/// Keyframes of a word beyond which it says nothing.
const COMMON: usize = 24;

/// The index.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// Per word and its value, the keyframes that have it, by number.
    lists: Vec<Vec<u16>>,
    keyframes: usize,
    votes: Vec<u32>,
    voter: Vec<u32>,
}

impl Default for Places {
    fn default() -> Self {
        let lists = vec![Vec::new(); WORDS << 16];
        Self { lists, keyframes: 0, votes: Vec::new(), voter: Vec::new() }
    }
}

fn words(descriptor: &Descriptor) -> impl Iterator<Item = usize> + '_ {
    (0..WORDS).map(|i| i << 16 | (descriptor[i / 4] >> (i % 4 * 16) & 0xffff) as usize)
}

impl Places {
    /// Adds the next keyframe. There may be 65536.
    pub(super) fn add(&mut self, seen: &[Seen]) {
        let Ok(number) = u16::try_from(self.keyframes) else { return };
        for word in seen.iter().flat_map(|seen| words(&seen.descriptor)) {
            let list = &mut self.lists[word];
            // One more than what counts shows that the word is common.
            if list.last() != Some(&number) && list.len() <= COMMON {
                list.push(number);
            }
        }
        self.keyframes += 1;
        self.votes.push(0);
        self.voter.push(0);
    }

    /// Number of key points of a picture that have a word in common with each keyframe.
    pub(super) fn votes(&mut self, seen: &[Seen]) -> &[u32] {
        self.votes.fill(0);
        self.voter.fill(0);
        for (index, seen) in (1..).zip(seen) {
            for word in words(&seen.descriptor) {
                let list = &self.lists[word];
                if list.len() > COMMON {
                    continue;
                }
                for &keyframe in list {
                    let keyframe = usize::from(keyframe);
                    if std::mem::replace(&mut self.voter[keyframe], index) != index {
                        self.votes[keyframe] += 1;
                    }
                }
            }
        }
        &self.votes
    }
}

#[cfg(test)]
mod tests {
    use super::Places;
    use crate::simulator::texture::scatter;
    use crate::slam::features::Seen;

    /// 200 key points of scene `scene`; picture `picture` of it has other bits here and there.
    fn picture(scene: u64, picture: u64) -> Vec<Seen> {
        let descriptor = |i: u64| {
            std::array::from_fn(|word| {
                let flip = scatter(picture, i, word as u64 + 7);
                scatter(scene, i, word as u64) ^ 1 << (flip % 64) ^ 1 << (flip >> 8 & 63)
            })
        };
        (0..200).map(|i| Seen { at: [0.0; 2], descriptor: descriptor(i) }).collect()
    }

    #[test]
    fn a_scene_is_known_again_among_thirty() {
        let mut places = Places::default();
        for scene in 0..30 {
            places.add(&picture(scene, 1));
        }
        for scene in [0, 13, 29] {
            let votes = places.votes(&picture(scene, 2)).to_vec();
            let own = votes[scene as usize];
            assert!(own > 150, "{votes:?}");
            let others = votes.iter().enumerate().filter(|(i, _)| *i != scene as usize);
            assert!(others.map(|(_, v)| *v).max().unwrap() < own / 3, "{votes:?}");
        }
    }

    #[test]
    fn what_all_keyframes_show_says_nothing() {
        let mut places = Places::default();
        for _ in 0..40 {
            places.add(&picture(5, 1));
        }
        assert!(places.votes(&picture(5, 1)).iter().all(|v| *v == 0));
    }
}
