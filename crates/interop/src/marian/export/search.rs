//! The generation settings of an exported model, `decoder.yml`.

use std::fmt::Write;

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_checkpoint::LoadedModel;
use attentive_config::{EarlyStopping, LengthPenaltyFormula};

use super::super::search::MarianSearchSettings;
use super::vocabularies::suppressed_there;
use super::{MODEL, sides};

/// Returns the content of `decoder.yml`, for vocabularies with these names of files. Settings that Marian
/// does not have are added to `notes`.
pub(super) fn decoder_yml(
    loaded: &LoadedModel,
    vocabularies: &[String],
    notes: &mut Vec<String>,
) -> Result<String> {
    let (decode, model) = (&loaded.config.decode, &loaded.config.model);
    let tokenizer = loaded.tokenizers.tgt();
    let never = loaded.tokenizers.contract(model)?.never;
    let unk = tokenizer.special().unk;
    let control: Vec<TokenId> = suppressed_there(tokenizer).into_iter().filter(|&id| id != unk).collect();
    let allows_unk = !never.contains(&unk);
    let allows_special = !control.iter().any(|id| never.contains(id));
    let is_gnmt = decode.length_penalty_formula == LengthPenaltyFormula::Gnmt;
    let penalty = if is_gnmt { 0.0 } else { decode.length_penalty };
    let differences = [
        (
            !is_gnmt || decode.length_penalty == 0.0,
            "`decode.length_penalty_formula` is `gnmt`, so there is none",
        ),
        (
            decode.max_new_factor > 0.0 && decode.max_new_extra == 0,
            "`decode.max_new_extra` is not 0 or `decode.max_new_factor` is 0, so translations end elsewhere if \
             they are too long",
        ),
        (decode.min_length == 0, "`decode.min_length` is not 0"),
        (decode.no_repeat_ngram == 0, "`decode.no_repeat_ngram` is not 0"),
        (
            decode.early_stopping == EarlyStopping::Never || decode.beam_width == 1,
            "`decode.early_stopping` is not `never`",
        ),
    ];
    let differences = differences.into_iter().filter(|(is_equal, _)| !is_equal);
    notes.extend(differences.map(|(_, difference)| format!("the search differs: {difference}")));
    let max_factor = match decode.max_new_factor {
        0.0 => MarianSearchSettings::default().max_factor,
        factor => factor,
    };
    let mut text = format!("relative-paths: true\nmodels:\n  - {MODEL}\nvocabs:\n");
    for name in sides(vocabularies) {
        let _ = writeln!(text, "  - {name}");
    }
    let _ = write!(
        text,
        "beam-size: {}\nnormalize: {penalty}\nword-penalty: {}\nmax-length: {}\nmax-length-factor: \
         {max_factor}\nallow-unk: {allows_unk}\nallow-special: {allows_special}\n",
        decode.beam_width, decode.word_penalty, model.max_len
    );
    Ok(text)
}
