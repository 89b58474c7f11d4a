//! Export for Firefox, with everything that is measured or learned for it.

use std::path::Path;
use std::sync::Arc;

use attentive_base::error::{Error, Result};
use attentive_checkpoint as checkpoint;
use attentive_evaluate::quantize::learn_shortlist;
use attentive_evaluate::static_int8::{self, Int8Cost};
use attentive_interop::{
    self as interop, ExportFormat, ExportOptions, Exported, FirefoxParts, export, rounded_weights,
};
use attentive_model::shortlist::{Shortlist, ShortlistLimits};
use attentive_pipeline::Pipeline;

/// What a model for Firefox needs besides the model.
#[derive(Clone, Copy, Debug)]
pub struct FirefoxExport<'a> {
    /// The codes of the source and the target language.
    pub languages: [&'a str; 2],
    /// Sentences on which the scales of 8-bit products are measured.
    pub text: &'a [String],
    /// References of these sentences, for BLEU; there may be none.
    pub references: &'a [Vec<String>],
    /// Sentences and their translations from which the shortlist is learned; by default, it is the model's.
    pub shortlist: Option<[&'a [String]; 2]>,
}

impl FirefoxExport<'_> {
    /// Writes the model in `dir` to the folder `out`, which must not exist. Returns what 8-bit products cost,
    /// too.
    ///
    /// # Errors
    /// [`Error::Usage`] without sentences, for a quantized model, for one without a shortlist if none is
    /// learned, and for one whose architecture Firefox's engine does not have; any error of loading,
    /// translating and writing.
    pub fn write(self, dir: &Path, out: &Path) -> Result<(Exported, Int8Cost)> {
        interop::check(dir, ExportFormat::Firefox)?;
        if self.text.is_empty() {
            return Err(Error::usage(
                "the scales of 8-bit products are measured on sentences, and there are none",
                "give a file of a few hundred source sentences for the calibration",
            ));
        }
        let loaded = checkpoint::load(dir)?;
        let weights = rounded_weights(&loaded, interop::dense(&loaded)?);
        let pipeline = Pipeline::load(dir)?;
        let shortlist = match (self.shortlist, &loaded.shortlist) {
            (Some(text), _) => {
                // The first tokens of the vocabulary are candidates there anyway.
                let limits = ShortlistLimits { frequent: 0, ..ShortlistLimits::default() };
                learn_shortlist(&pipeline, text, limits)?
            }
            (None, Some(own)) => Shortlist::clone(own),
            (None, None) => {
                return Err(Error::usage(
                    "a model for Firefox has a shortlist, and this model has none",
                    "learn one from parallel text, such as the training data",
                ));
            }
        };
        let pipeline = pipeline.with_shortlist(Some(Arc::new(shortlist.clone())));
        let input_factors = static_int8::input_factors(&pipeline, self.text)?;
        let cost = static_int8::cost(&pipeline, weights, &input_factors, self.text, self.references)?;
        let parts =
            FirefoxParts { languages: self.languages, input_factors: &input_factors, shortlist: &shortlist };
        let options = ExportOptions { text: self.text, firefox: Some(parts) };
        Ok((export(dir, ExportFormat::Firefox, options, out)?, cost))
    }
}
