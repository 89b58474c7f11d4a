//! The loss of attention that is to follow alignments.

use attentive_base::batch::AlignedPositions;

use super::*;

#[test]
fn guided_attention_of_one_head() {
    let aligned = [(0, 0, 1, 1.0), (0, 1, 0, 0.5), (0, 1, 2, 0.5), (1, 0, 0, 1.0)];
    let aligned = aligned.map(|(row, tgt, src, share)| AlignedPositions { row, tgt, src, share });
    for n_kv_heads in [1, 2] {
        for head in 0..2 {
            let shape =
                AttentionShape { batch: 2, n_heads: 2, n_kv_heads, tgt_len: 2, src_len: 3, d_head: 4 };
            let guide = AttentionGuide { head, aligned: aligned.into(), strength: 0.7 };
            let lengths = Lengths::new(vec![3, 2], 3);
            Case::new(11, &[[4, 8], [6, 8 * n_kv_heads]]).checked(&|inputs| {
                let operands = [inputs[0].clone(), inputs[1].clone()];
                guided_attention(shape, operands, Some(&lengths), 0.5, &guide)
            });
        }
    }
}

#[test]
fn the_loss_is_that_of_the_weights_of_attention() {
    let shape = AttentionShape { batch: 1, n_heads: 2, n_kv_heads: 2, tgt_len: 2, src_len: 3, d_head: 2 };
    let number = |i: usize| ((i * 7 % 5) as f32 - 2.0) / 2.0;
    let queries = Value::new((0..8).map(number).collect::<Vec<f32>>(), [2, 4]);
    let keys_values = Value::new((0..24).map(number).collect::<Vec<f32>>(), [3, 8]);
    let scores = TapeScores { scale: 0.7, causality: Causality::Full, bias: None };
    let attended = QkvSource::Other { queries: queries.clone(), keys_values: keys_values.clone() };
    let weights = attention_weights(shape, &attended, None, &scores);
    let aligned = [(0, 2, 0.25), (1, 0, 1.0)];
    let positions = aligned.map(|(tgt, src, share)| AlignedPositions { row: 0, tgt, src, share });
    for head in 0..2 {
        let guide = AttentionGuide { head, aligned: positions.into(), strength: 1.0 };
        let operands = [queries.clone(), keys_values.clone()];
        let loss = guided_attention(shape, operands, None, 0.7, &guide);
        let of_head = weights.of_head(head).values;
        let expected: f64 = aligned
            .iter()
            .map(|&(tgt, src, share)| {
                let weight = f64::from(of_head[tgt as usize * 3 + src as usize]);
                -f64::from(share) * (weight + 1e-6).ln()
            })
            .sum();
        assert!((f64::from(loss.values()[0]) - expected).abs() < 1e-5);
    }
}
