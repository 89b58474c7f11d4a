//! Tables with aligned columns.

/// Rows as lines: the first column left-aligned, the others right-aligned.
pub(super) fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = width(column);
            match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            }
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect()
}

/// Numbers with four decimals, separated by blanks.
pub(super) fn blank_separated<T: std::fmt::Display>(numbers: &[T]) -> String {
    let shown: Vec<String> = numbers.iter().map(|number| format!("{number:.4}")).collect();
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [["a", "1"], ["long", "23"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(aligned(&rows), ["a      1", "long  23"]);
    }
}
