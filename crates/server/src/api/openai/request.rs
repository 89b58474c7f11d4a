//! The fields that all requests for texts share.

/// Declares a request with its own fields, and with the shared fields that control generation or have no
/// effect.
macro_rules! request {
    ($(#[$about:meta])* struct $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(serde::Deserialize, utoipa::ToSchema)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "some fields ask for nothing")]
        pub(super) struct $name {
            $($own)*
            /// Divisor of the logits; 0 always takes the most likely token [default: 1; translations are not
            /// sampled].
            temperature: Option<f64>,
            /// Probability mass of the most likely tokens to sample from [default: 1].
            top_p: Option<f64>,
            /// The same seed gives the same texts [default: a random one].
            seed: Option<i64>,
            /// Number of texts for each prompt [default: 1].
            n: Option<usize>,
            /// Whether to stream texts while they are generated.
            stream: Option<bool>,
            /// Options of a stream.
            stream_options: Option<$crate::api::openai::options::StreamOptions>,
            /// Ignored.
            #[serde(default, deserialize_with = "neutral::anything")]
            #[schema(value_type = Option<String>)]
            user: (),
            /// Ignored.
            #[serde(default, deserialize_with = "neutral::anything")]
            #[schema(value_type = Option<String>)]
            safety_identifier: (),
            /// Ignored.
            #[serde(default, deserialize_with = "neutral::anything")]
            #[schema(value_type = Option<String>)]
            prompt_cache_key: (),
            /// Ignored.
            #[serde(default, deserialize_with = "neutral::anything")]
            #[schema(value_type = Option<Object>)]
            metadata: (),
            /// Only `false`.
            #[serde(default, deserialize_with = "neutral::no")]
            #[schema(value_type = Option<bool>)]
            store: (),
            /// Only `auto` or `default`.
            #[serde(default, deserialize_with = "neutral::usual_tier")]
            #[schema(value_type = Option<String>)]
            service_tier: (),
            /// Only 0.
            #[serde(default, deserialize_with = "neutral::zero")]
            #[schema(value_type = Option<f64>)]
            frequency_penalty: (),
            /// Only 0.
            #[serde(default, deserialize_with = "neutral::zero")]
            #[schema(value_type = Option<f64>)]
            presence_penalty: (),
            /// Only an empty object.
            #[serde(default, deserialize_with = "neutral::empty_object")]
            #[schema(value_type = Option<Object>)]
            logit_bias: (),
        }

        impl $name {
            /// The options for texts of at most `new_tokens` tokens; `tokens_field` is the name of the field
            /// with this limit.
            fn completion_options(
                &self,
                tokens_field: &'static str,
                new_tokens: usize,
            ) -> $crate::api::openai::options::CompletionOptions {
                $crate::api::openai::options::CompletionOptions {
                    copies: self.n,
                    new_tokens,
                    tokens_field,
                    temperature: self.temperature,
                    top_p: self.top_p,
                    seed: self.seed,
                }
            }
        }
    };
}

pub(super) use request;
