//! Reads the lines of corpora from files of all formats, and from RAM.

pub(crate) mod bounded_reader;
pub(crate) mod convertible_format;
pub(crate) mod corpus_reader;
pub(crate) mod csv_table;
pub(crate) mod headers;
pub(crate) mod in_memory_lines;
pub(crate) mod interruptible_file;
pub(crate) mod json_lines;
pub(crate) mod line_weights;
pub(crate) mod lines;
pub(crate) mod patterns;
pub(crate) mod quotes;
pub(crate) mod records;
pub(crate) mod source_file;
pub(crate) mod table_columns;
pub(crate) mod translation_units;
