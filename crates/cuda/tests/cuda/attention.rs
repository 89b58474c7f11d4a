//! Attention against the reference of the kernels for CPUs.

use attentive_base::random::Random;
use attentive_cuda::{Attention, AttentionInputs, Bf16, Buffer, Cuda, Shape};
use attentive_kernels::attention::{AttentionShape, Causality};
use attentive_kernels::reference;

use super::gpu;

const SIZES: Attention = Attention {
    batch: 2,
    heads: 2,
    kv_heads: 2,
    tgt: 70,
    src: 70,
    width: 32,
    is_causal: false,
};

/// Operands on the CPU, without gaps.
struct Case {
    sizes: Attention,
    q: Vec<Bf16>,
    k: Vec<Bf16>,
    v: Vec<Bf16>,
    lengths: Option<Vec<u32>>,
    scale: f32,
}

/// What attention gives.
#[derive(Debug, PartialEq)]
struct Result {
    out: Vec<f32>,
    log_sums: Vec<f32>,
}

impl Case {
    fn random(sizes: Attention, lengths: Option<Vec<u32>>, seed: u64) -> Self {
        let mut random = Random::new(seed, 0);
        let mut numbers = |count: usize| -> Vec<Bf16> {
            (0..count)
                .map(|_| Bf16::round(random.normal() as f32))
                .collect()
        };
        let keys = sizes.batch * sizes.src * sizes.kv_heads * sizes.width;
        Self {
            q: numbers(sizes.batch * sizes.tgt * sizes.heads * sizes.width),
            k: numbers(keys),
            v: numbers(keys),
            sizes,
            lengths,
            scale: 1.0 / (sizes.width as f32).sqrt(),
        }
    }

    /// What the GPU gives; the rows of the operands have gaps of this many numbers, which are not numbers.
    fn run(&self, gpu: &Cuda, gap: usize) -> Result {
        let sizes = self.sizes;
        let upload = |values: &[Bf16], columns: usize| {
            let rows = values.len() / columns;
            let mut spread = Vec::new();
            for row in values.chunks(columns) {
                spread.extend(row);
                spread.extend(vec![Bf16::round(f32::NAN); gap]);
            }
            let buffer = gpu.upload(&spread).expect("memory");
            let shape = Shape {
                stride: columns + gap,
                ..Shape::dense(rows, columns)
            };
            (buffer, shape)
        };
        let (q, q_shape) = upload(&self.q, sizes.heads * sizes.width);
        let (k, k_shape) = upload(&self.k, sizes.kv_heads * sizes.width);
        let (v, v_shape) = upload(&self.v, sizes.kv_heads * sizes.width);
        let lengths = self.lengths.as_deref();
        let lengths: Option<Buffer<u32>> = lengths.map(|it| gpu.upload(it).expect("memory"));
        let inputs = AttentionInputs {
            q: q.matrix(q_shape),
            k: k.matrix(k_shape),
            v: v.matrix(v_shape),
            lengths: lengths.as_ref(),
            scale: self.scale,
        };
        let mut out = gpu.zeros(self.q.len()).expect("memory");
        let log_sums = sizes.batch * sizes.heads * sizes.tgt;
        let mut log_sums = gpu.zeros(log_sums).expect("memory");
        gpu.attention(sizes, inputs, &mut out, &mut log_sums)
            .expect("attention");
        let out = gpu.download(&out).expect("numbers");
        Result {
            out: out.into_iter().map(f32::from).collect(),
            log_sums: gpu.download(&log_sums).expect("numbers"),
        }
    }

    fn check(&self, result: &Result) {
        let f64s = |values: &[Bf16]| -> Vec<f64> {
            let values = values.iter().copied();
            values.map(|value| f64::from(f32::from(value))).collect()
        };
        let (q, k, v) = (f64s(&self.q), f64s(&self.k), f64s(&self.v));
        let lens = self.lengths.as_ref().map(|lengths| -> Vec<usize> {
            lengths.iter().map(|&length| length as usize).collect()
        });
        let sizes = self.sizes;
        let attention = reference::Attention {
            shape: AttentionShape {
                batch: sizes.batch,
                n_heads: sizes.heads,
                n_kv_heads: sizes.kv_heads,
                tgt_len: sizes.tgt,
                src_len: sizes.src,
                d_head: sizes.width,
            },
            q: &q,
            k: &k,
            v: &v,
            lens: lens.as_deref(),
            causality: if sizes.is_causal {
                Causality::Causal
            } else {
                Causality::Full
            },
            scale: f64::from(self.scale),
            bias: None,
            dropout: None,
        };
        for (place, (&found, expected)) in result.out.iter().zip(attention.forward()).enumerate() {
            // Weights and results are rounded to bf16.
            let difference = (f64::from(found) - expected).abs();
            assert!(
                difference <= 0.02,
                "{found} at {place}, expected {expected}, of {sizes:?}"
            );
        }
    }

    /// Compares the logarithms of the sums of the softmax.
    fn check_log_sums(&self, result: &Result) {
        let Attention {
            batch, heads, tgt, ..
        } = self.sizes;
        for sentence in 0..batch {
            for head in 0..heads {
                for query in 0..tgt {
                    let place = (sentence * heads + head) * tgt + query;
                    let found = f64::from(result.log_sums[place]);
                    match self.log_sum(sentence, head, query) {
                        Some(expected) => assert!((found - expected).abs() < 1e-4),
                        None => assert!(found < -1e38),
                    }
                }
            }
        }
    }

    fn log_sum(&self, sentence: usize, head: usize, query: usize) -> Option<f64> {
        let Attention {
            heads,
            kv_heads,
            tgt,
            src,
            width,
            is_causal,
            ..
        } = self.sizes;
        let length = match &self.lengths {
            Some(lengths) => lengths[sentence] as usize,
            None => src,
        };
        let keys = (0..length).filter(|key| !is_causal || key + tgt <= query + src);
        let q_row = (sentence * tgt + query) * heads * width + head * width;
        let sum: f64 = keys
            .map(|key| {
                let column = head / (heads / kv_heads) * width;
                let k_row = (sentence * src + key) * kv_heads * width + column;
                let product = |i| {
                    f64::from(f32::from(self.q[q_row + i]))
                        * f64::from(f32::from(self.k[k_row + i]))
                };
                (f64::from(self.scale) * (0..width).map(product).sum::<f64>()).exp()
            })
            .sum();
        (sum > 0.0).then(|| sum.ln())
    }
}

#[test]
fn attention_is_that_of_the_reference() {
    let Some(gpu) = gpu() else { return };
    let cases = [
        (SIZES, None),
        (
            Attention {
                width: 64,
                heads: 4,
                kv_heads: 2,
                tgt: 20,
                ..SIZES
            },
            None,
        ),
        (
            Attention {
                width: 128,
                tgt: 17,
                src: 45,
                ..SIZES
            },
            Some(vec![45, 3]),
        ),
        (
            Attention {
                is_causal: true,
                ..SIZES
            },
            None,
        ),
        (
            Attention {
                is_causal: true,
                width: 64,
                ..SIZES
            },
            Some(vec![33, 70]),
        ),
        (
            Attention {
                is_causal: true,
                tgt: 5,
                src: 40,
                ..SIZES
            },
            None,
        ),
        // The last key begins a block.
        (
            Attention {
                is_causal: true,
                tgt: 33,
                src: 33,
                ..SIZES
            },
            None,
        ),
        // Some queries see no key.
        (
            Attention {
                is_causal: true,
                tgt: 70,
                src: 66,
                ..SIZES
            },
            Some(vec![0, 66]),
        ),
        (
            Attention {
                tgt: 1,
                src: 1,
                batch: 1,
                ..SIZES
            },
            None,
        ),
    ];
    for (seed, (sizes, lengths)) in (1..).zip(cases) {
        let case = Case::random(sizes, lengths, seed);
        for gap in [0, 3, 8] {
            let result = case.run(&gpu, gap);
            case.check(&result);
            case.check_log_sums(&result);
        }
    }
}

#[test]
fn a_sentence_has_the_same_bits_alone_and_with_padding_that_is_not_read() {
    let Some(gpu) = gpu() else { return };
    let alone = Case::random(
        Attention {
            batch: 1,
            src: 37,
            tgt: 20,
            ..SIZES
        },
        None,
        9,
    );
    let mut padded = Case::random(
        Attention {
            batch: 2,
            src: 90,
            tgt: 75,
            ..SIZES
        },
        Some(vec![90, 37]),
        10,
    );
    let row = SIZES.heads * SIZES.width;
    padded.q[75 * row..][..20 * row].copy_from_slice(&alone.q);
    for (whole, part) in [(&mut padded.k, &alone.k), (&mut padded.v, &alone.v)] {
        whole[90 * row..][..37 * row].copy_from_slice(part);
        whole[(90 + 37) * row..].fill(Bf16::round(f32::NAN));
    }
    let (alone, padded) = (alone.run(&gpu, 0), padded.run(&gpu, 0));
    assert_eq!(padded.out[75 * row..][..20 * row], alone.out);
    assert!(padded.out.iter().all(|value| value.is_finite()));
}
