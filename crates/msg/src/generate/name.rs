//! Rust identifiers for names of definitions.

/// Words that Rust keeps for itself.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Words that cannot even be written as raw identifiers.
const RESERVED: &[&str] = &["self", "super", "crate"];

/// Names of Rust's own types, which a module of that name would hide.
const TYPES: &[&str] = &[
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "str", "u8", "u16", "u32", "u64",
    "usize",
];

/// Modules of a package beside its messages'.
const MODULES: &[&str] = &["action", "srv"];

/// A field's name as a method's name.
pub(super) fn method(name: &str) -> String {
    if RESERVED.contains(&name) {
        format!("{name}_")
    } else if KEYWORDS.contains(&name) {
        format!("r#{name}")
    } else {
        name.to_owned()
    }
}

/// A message's name as a module's and a file's name: `CameraInfo` becomes `camera_info`.
pub(super) fn module(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut text = String::with_capacity(name.len() + 4);
    for (index, character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(index + 1);
        let starts_word = character.is_ascii_uppercase()
            && before.is_some_and(|before| {
                !before.is_ascii_uppercase() && before != '_'
                    || before.is_ascii_uppercase()
                        && after.is_some_and(|after| after.is_ascii_lowercase())
            });
        if starts_word {
            text.push('_');
        }
        text.push(character.to_ascii_lowercase());
    }
    if [KEYWORDS, RESERVED, TYPES, MODULES].iter().any(|words| words.contains(&text.as_str())) {
        text.push_str("_message");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers_and_keywords_stay_usable() {
        let cases = [
            ("Image", "image"),
            ("CameraInfo", "camera_info"),
            ("PointCloud2", "point_cloud2"),
            ("MultiDOFJointState", "multi_dof_joint_state"),
            ("ColorRGBA", "color_rgba"),
            ("Type", "type_message"),
            ("Bool", "bool_message"),
            ("Srv", "srv_message"),
            ("Action", "action_message"),
        ];
        for (name, wanted) in cases {
            assert_eq!(module(name), wanted);
        }
        assert_eq!(method("type"), "r#type");
        assert_eq!(method("self"), "self_");
        assert_eq!(method("height"), "height");
    }
}
