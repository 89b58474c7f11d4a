//! Names of values.

use attentive::error::{Error, Result};
use clap::ValueEnum;

/// The value of the argument `option` that is called `name`, as on the command line.
///
/// # Errors
/// [`Error::Usage`] for another name.
pub(crate) fn choice<T: ValueEnum>(option: &str, name: &str) -> Result<T> {
    let ignore_case = false;
    T::from_str(name, ignore_case).map_err(|_| {
        let values = T::value_variants().iter().filter_map(T::to_possible_value);
        let values: Vec<String> = values
            .map(|value| format!("\"{}\"", value.get_name()))
            .collect();
        Error::usage(
            format!("`{option}` is \"{name}\""),
            format!("choose one of {}", values.join(", ")),
        )
    })
}

/// Like [`choice`], for an argument that may be left out.
pub(crate) fn choice_or_none<T: ValueEnum>(option: &str, name: Option<&str>) -> Result<Option<T>> {
    name.map(|name| choice(option, name)).transpose()
}
