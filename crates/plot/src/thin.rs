//! Downsampling of series.

/// Reduces a series to at most `most` points by averaging neighbors over equal intervals of x.
///
/// Points must be sorted by x. NaN and infinite values are ignored.
pub fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let finite = |(x, y): &&(f64, f64)| x.is_finite() && y.is_finite();
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let extent = last.0 - first.0;
    if points.len() <= most || extent <= 0.0 {
        return points.to_vec();
    }
    let stretch = |x: f64| ((x - first.0) / extent * most as f64).min(most as f64 - 1.0) as usize;
    let mut sums = vec![(0.0, 0.0, 0usize); most];
    for (x, y) in points.iter().filter(finite) {
        let sum = &mut sums[stretch(*x)];
        *sum = (sum.0 + x, sum.1 + y, sum.2 + 1);
    }
    sums.into_iter()
        .filter(|(_, _, count)| *count > 0)
        .map(|(x, y, count)| (x / count as f64, y / count as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_series_are_unchanged() {
        let points = [(1.0, 2.0), (2.0, f64::NAN), (3.0, 1.0)];
        assert_eq!(thin(&points, 3).len(), 3);
        assert_eq!(thin(&[], 3), []);
        assert_eq!(thin(&[(1.0, 2.0), (1.0, 3.0)], 1).len(), 2);
    }

    #[test]
    fn long_series_are_averaged() {
        let points: Vec<(f64, f64)> = (0..1000).map(|x| (x.into(), (x % 2).into())).collect();
        let thinned = thin(&points, 100);
        assert_eq!(thinned.len(), 100);
        assert_eq!(thinned[0], (4.5, 0.5));
    }
}
