//! Names of topics as bags have them.

/// Some tools record `chatter` where the topic was `/chatter`.
pub(crate) fn absolute(name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { format!("/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_names_become_absolute() {
        assert_eq!(absolute("chatter"), "/chatter");
        assert_eq!(absolute("/chatter"), "/chatter");
    }
}
