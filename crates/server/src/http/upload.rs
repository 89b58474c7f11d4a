//! Uploads: forms with a file (`multipart/form-data`).

use std::sync::Arc;

use attentive_document::FileFormat;
use axum::extract::Request;
use serde::de::DeserializeOwned;

use crate::http::asked::{Asked, FieldRules, known};
use crate::http::body::read_form;
use crate::http::multipart;
use crate::http::visit::Visit;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::App;
use crate::state::shares::ClientShare;

/// A file as a client sent it.
pub(crate) struct Upload {
    /// Its name without folders.
    pub(crate) name: String,
    pub(crate) format: FileFormat,
    pub(crate) text: String,
}

/// Reads a form whose field `file` is a file, and its other fields.
///
/// # Errors
/// A [`Problem`] for a body that is no such form, for a wrong key, and for a file that is not text of a known
/// format.
pub(crate) async fn upload<T: DeserializeOwned>(
    request: Request,
    app: &App,
    rules: FieldRules,
) -> Result<(Upload, Asked<T>), Problem> {
    let visit = Visit::of(&request)?;
    let headers = request.headers().clone();
    let boundary = multipart::boundary(request.headers()).ok_or_else(|| {
        Problem::new(ProblemKind::MediaType, "the body must be a form with a file (`multipart/form-data`)")
    })?;
    let share: Option<Arc<ClientShare>> = request.extensions().get().cloned();
    let (bytes, mut fields) = read_form(request, app).await?;
    // The form is read from a copy, and the file is copied from there.
    if let Some(share) = share {
        share.grow(2 * bytes.len())?;
    }
    let form = multipart::read(bytes, boundary, rules.lists).await?;
    fields.remove("file");
    fields.extend(form.fields);
    let (name, content) = form.file.ok_or_else(|| Problem::field("file", "the form has no field `file`"))?;
    let given = fields.remove("filename").and_then(|name| name.as_str().map(str::to_owned));
    let name = base_name(given.as_deref().filter(|name| !name.is_empty()).unwrap_or(&name));
    let format = format_of("file", &name)?;
    let upload = Upload { format, text: multipart::text("file", &content)?, name };
    Ok((upload, known(app, &headers, visit, rules.read(fields)?)?))
}

/// The format of the file `name`, which is in `field`.
///
/// # Errors
/// A [`Problem`] that names the formats.
pub(crate) fn format_of(field: &str, name: &str) -> Result<FileFormat, Problem> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if extension.is_empty() {
        let problem = format!("the name of the file, `{name}`, has no extension that tells its format");
        return Err(Problem::field(field, problem).hint(format!("use one of {}", FileFormat::listed())));
    }
    let unknown = |error: attentive_base::Error| Problem {
        field: Some(field.into()),
        message: format!("the file extension `.{extension}` is not supported"),
        ..Problem::invalid(&error)
    };
    extension.parse().map_err(unknown)
}

/// The last part of a path of any system, without characters that headers may not have; of a long one the
/// end, which tells the format.
fn base_name(path: &str) -> String {
    const MAX_NAME_CHARS: usize = 255;
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: Vec<char> = name.chars().filter(|c| !c.is_control() && *c != '"').collect();
    name[name.len().saturating_sub(MAX_NAME_CHARS)..].iter().collect()
}
