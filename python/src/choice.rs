//! Names of values.

use attentive::engine::Precision;
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
        let values: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        unknown(option, name, &values)
    })
}

/// Like [`choice`], for an argument that may be left out.
pub(crate) fn choice_or_none<T: ValueEnum>(option: &str, name: Option<&str>) -> Result<Option<T>> {
    name.map(|name| choice(option, name)).transpose()
}

/// The number type that is called `name`.
///
/// # Errors
/// [`Error::Usage`] for another name.
pub(crate) fn precision(name: &str) -> Result<Precision> {
    Precision::named(name).ok_or_else(|| {
        let names = Precision::ALL.map(Precision::name);
        unknown("precision", name, &names)
    })
}

/// The error for an argument `option` that is called `name` instead of one of `values`.
pub(crate) fn unknown(option: &str, name: &str, values: &[impl AsRef<str>]) -> Error {
    let values = values.iter().map(|value| format!("\"{}\"", value.as_ref()));
    Error::usage(
        format!("`{option}` is \"{name}\""),
        format!("choose one of {}", values.collect::<Vec<_>>().join(", ")),
    )
}
