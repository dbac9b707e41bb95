//! One self-contained page of the findings of several benchmarks. Shows what they hold, computes
//! nothing new.

use super::page::{facts, framed};
use super::plot::escape;
use crate::findings::{Cell, Findings, Goal, Table};

/// The page: all goals first, then each benchmark with its conditions.
pub fn joined_page(title: &str, all: &[Findings], missing: &[String]) -> String {
    let missing: String =
        missing.iter().map(|what| format!("<li>{}</li>\n", escape(what))).collect();
    let goals: String = all.iter().flat_map(|found| &found.targets).map(goal).collect();
    let parts: String = all.iter().map(part).collect();
    let body = format!(
        "<ul class=\"missing\">\n{missing}</ul>\n<h2>Against the goals</h2>\n<table>\n\
         <tr><th>What</th><th>Measured</th><th>At most</th><th></th></tr>\n{goals}</table>\n{parts}"
    );
    framed(title, &body)
}

fn goal(goal: &Goal) -> String {
    let verdict = goal.verdict();
    let at_most = goal.at_most.map_or(String::new(), |most| Cell::Number(most).text());
    format!(
        "<tr><td>{}</td><td class=\"number\">{} {}</td><td class=\"number\">{at_most}</td>\
         <td class=\"{verdict}\">{verdict}</td></tr>\n",
        escape(&goal.name),
        Cell::Number(goal.value).text(),
        escape(&goal.unit)
    )
}

fn part(found: &Findings) -> String {
    let notes: String =
        found.notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))).collect();
    let tables: String = found.tables.iter().map(table).collect();
    format!(
        "<h2>{}</h2>\n{}<ul>\n{notes}</ul>\n{tables}",
        escape(&found.title),
        facts(&found.provenance, &found.machine, &[])
    )
}

fn table(table: &Table) -> String {
    let heads: String =
        table.columns.iter().map(|column| format!("<th>{}</th>", escape(column))).collect();
    let cell = |cell: &Cell| match cell {
        Cell::Text(text) => format!("<td>{}</td>", escape(text)),
        other => format!("<td class=\"number\">{}</td>", other.text()),
    };
    let row = |row: &Vec<Cell>| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>());
    let rows: String = table.rows.iter().map(row).collect();
    format!("<h3>{}</h3>\n<table>\n<tr>{heads}</tr>\n{rows}</table>\n", escape(&table.title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_goals_rows_and_what_is_missing() {
        let mut found = Findings::new("tried", "A <trial>").expect("/proc");
        let mut rows = Table::new("Rows", &["what", "ns"]);
        rows.row(["a & b".into(), 12.5.into()]);
        found.table(rows);
        found.target("hop", 2.0, 1.0, "ns");
        found.note("told");
        let page = joined_page("All", &[found], &["`peers` was not run".to_owned()]);
        for part in
            ["A &lt;trial&gt;", "a &amp; b", "12.5", "missed", "told", "`peers` was not run"]
        {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("http"));
    }
}
