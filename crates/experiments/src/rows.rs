//! Rows of results as CSV and JSON.

use serde_json::{Map, Value};

/// A row: its columns by name, in the order of the CSV file; the same names in every row of a file.
pub(crate) trait Record {
    /// The columns. `Null`: there is no value.
    fn columns(&self) -> Vec<(&'static str, Value)>;
}

/// Six decimals: nanoseconds of a millisecond.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The row as an object.
pub(crate) fn json(row: &impl Record) -> Value {
    let columns = row.columns().into_iter().map(|(name, value)| (name.to_owned(), value));
    Value::Object(columns.collect::<Map<_, _>>())
}

/// Head and rows (RFC 4180, with line feeds).
pub(crate) fn csv(rows: &[impl Record]) -> String {
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let columns = row.columns();
        if index == 0 {
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            text += &(names.join(",") + "\n");
        }
        let cells: Vec<String> = columns.iter().map(|(_, value)| cell(value)).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Row(&'static str, Option<f64>);

    impl Record for Row {
        fn columns(&self) -> Vec<(&'static str, Value)> {
            vec![("what", self.0.into()), ("ms", self.1.into())]
        }
    }

    #[test]
    fn cells_with_commas_and_quotes_are_quoted_and_missing_values_are_empty() {
        let rows = [Row("plain", Some(3.932)), Row("a, \"b\"", None)];
        assert_eq!(csv(&rows), "what,ms\nplain,3.932\n\"a, \"\"b\"\"\",\n");
        assert_eq!(json(&rows[1])["ms"], Value::Null);
    }
}
