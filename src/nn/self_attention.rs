//! Self-attention without parameters.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

/// softmax(X·Xᵀ)·X: every vector becomes an average of all vectors, weighted by their dot products with it. The projections
/// of [`super::MultiHeadAttention`] are missing here.
///
/// It is permutation-equivariant: permuting the vectors permutes the results. This is why attention needs positions.
///
/// # Shapes
/// - `x`, result: `[…, len, d]`
pub fn self_attention<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let scores = x.clone().matmul(x.clone().transpose());
    softmax(scores, D - 1).matmul(x)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Distribution, Int};

    use super::*;

    fn assert_close<const D: usize>(a: Tensor<D>, b: Tensor<D>) {
        let difference: f32 = (a - b).abs().max().into_scalar();
        assert!(difference < 1e-5, "{difference}");
    }

    #[test]
    fn permuted_vectors_give_permuted_results() {
        let device = Device::flex();
        let x = Tensor::<3>::random([2, 5, 4], Distribution::Normal(0.0, 1.0), &device);
        let order = Tensor::<1, Int>::from_data([3, 0, 4, 1, 2], &device);
        let permuted = self_attention(x.clone().select(1, order.clone()));
        assert_close(permuted, self_attention(x).select(1, order));
    }

    #[test]
    fn it_follows_its_formula() {
        let x = Tensor::<2>::from_data([[1.0, 0.0], [0.0, 2.0]], &Device::flex());
        // Scores: [1, 0] and [0, 4].
        let (a, b) = (1.0 / (1.0 + (-1.0f32).exp()), 1.0 / (1.0 + (-4.0f32).exp()));
        let expected = [[a, 2.0 * (1.0 - a)], [1.0 - b, 2.0 * b]];
        assert_close(
            self_attention(x),
            Tensor::from_data(expected, &Device::flex()),
        );
    }

    #[test]
    fn equal_vectors_do_not_change() {
        let x = Tensor::<2>::from_data([[0.5, -3.0, 7.0]; 4], &Device::flex());
        assert_close(self_attention(x.clone()), x);
    }
}
