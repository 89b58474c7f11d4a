//! The two columns of a table that are read.

use attentive_config::Column;

use crate::corpus::data_kind::DataKind;
use crate::corpus::item::Item;

/// The two columns of a table that are read: source and target, or text and label.
#[derive(Clone, Debug)]
pub(crate) struct TableColumns {
    /// As configured; `None` for tables of two columns.
    given: Option<[Column; 2]>,
    /// Their places, counted from 0, once they are known.
    places: Option<[usize; 2]>,
}

impl TableColumns {
    pub(crate) fn new(given: Option<[Column; 2]>) -> Self {
        let place = |column: &Column| match column {
            Column::Number(number) => Some(number.get() - 1),
            Column::Name(_) => None,
        };
        let places = given.as_ref().and_then(|[src, tgt]| Some([place(src)?, place(tgt)?]));
        Self { given, places }
    }

    /// Reads a line of these `fields`; `None` if it is the header. Describes the problem if a column is
    /// missing.
    pub(crate) fn read(&mut self, fields: &[&str], kind: DataKind) -> Result<Option<Item>, String> {
        let Some(given) = &self.given else {
            return match (fields, kind) {
                ([label, text], DataKind::Labeled) => Item::from_columns(text, label, kind).map(Some),
                ([src, tgt], _) => Item::from_columns(src, tgt, kind).map(Some),
                _ => {
                    let hint = match fields {
                        [_, _, _, ..] => "; `columns` names the two to read",
                        [one] if one.contains(';') => {
                            "; columns are separated by commas (`csv`) or tabs (`tsv`)"
                        }
                        _ => "",
                    };
                    Err(format!("expected 2 columns, found {}{hint}", fields.len()))
                }
            };
        };
        let Some([src, tgt]) = self.places else {
            let [src, tgt] = given.each_ref().map(|column| place(column, fields));
            self.places = Some([src?, tgt?]);
            return Ok(None);
        };
        match (fields.get(src), fields.get(tgt)) {
            (Some(src), Some(tgt)) => Item::from_columns(src, tgt, kind).map(Some),
            _ => Err(format!("expected at least {} columns, found {}", 1 + src.max(tgt), fields.len())),
        }
    }
}

/// The place of `column` in a table with this header.
fn place(column: &Column, header: &[&str]) -> Result<usize, String> {
    let name = match column {
        Column::Number(number) => return Ok(number.get() - 1),
        Column::Name(name) => name,
    };
    let found = || header.iter().filter(|one| one.trim() == name);
    if found().count() > 1 {
        return Err(format!("several columns are called `{name}`: give its number"));
    }
    header.iter().position(|one| one.trim() == name).ok_or_else(|| {
        let names: Vec<String> = header.iter().map(|one| format!("`{}`", one.trim())).collect();
        format!("expected a header with the column `{name}`, found {}", names.join(", "))
    })
}
