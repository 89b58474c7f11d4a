//! Colors that can be distinguished with any type of color vision.

/// The colors of a figure: its background and the colors that are visible on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on black.
    Dark,
}

impl Theme {
    /// Converts `color` from the light theme to this theme. Colors of matrices are the same in both.
    pub(super) fn shade(self, color: &str) -> &str {
        match (self, color) {
            (Self::Light, color) => color,
            (Self::Dark, PAPER) => "#0d1117",
            (Self::Dark, TEXT) => "#e6edf3",
            (Self::Dark, QUIET) => "#9198a1",
            (Self::Dark, GRID) => "#2b3036",
            (Self::Dark, MISSING) => "#3d444d",
            (Self::Dark, BAND) => "#33301f",
            (Self::Dark, "#0072b2") => "#4a9fe0",
            (Self::Dark, "#444444") => "#c0c0c0",
            (Self::Dark, color) => color,
        }
    }
}

/// The background.
pub(super) const PAPER: &str = "#ffffff";
/// Black text.
pub(super) const TEXT: &str = "#222222";
/// Secondary text and axes.
pub(super) const QUIET: &str = "#5a5a5a";
/// Grid lines.
pub(super) const GRID: &str = "#e4e4e4";
/// Missing numbers in a matrix.
pub(super) const MISSING: &str = "#d9d9d9";
/// Background of the part of a chart that another chart enlarges.
pub(super) const BAND: &str = "#f3ead2";

/// Okabe and Ito's palette (2008) without yellow, which is hard to see on white.
const SERIES: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"];

/// The color of series `number`; the palette repeats after seven.
pub(super) fn series(number: usize) -> &'static str {
    SERIES[number % SERIES.len()]
}

/// The dash pattern of series `number`, if an earlier series has the same color.
pub(super) fn dashes(number: usize) -> Option<&'static str> {
    const DASHES: [&str; 3] = ["7 3", "2 3", "8 3 2 3"];
    let round = number / SERIES.len();
    (round > 0).then(|| DASHES[(round - 1) % DASHES.len()])
}

/// Evenly spaced colors of viridis (Smith and van der Walt 2015).
const VIRIDIS: [[u8; 3]; 10] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x28, 0x78],
    [0x3e, 0x49, 0x89],
    [0x31, 0x68, 0x8e],
    [0x26, 0x82, 0x8e],
    [0x1f, 0x9e, 0x89],
    [0x35, 0xb7, 0x79],
    [0x6e, 0xce, 0x58],
    [0xb5, 0xde, 0x2b],
    [0xfd, 0xe7, 0x25],
];

/// The viridis color at `share`, from 0 (dark violet) to 1 (yellow).
pub(super) fn viridis(share: f64) -> String {
    let place = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let below = (place as usize).min(VIRIDIS.len() - 2);
    let part = place - below as f64;
    let [r, g, b] = std::array::from_fn(|i| {
        let (from, to) = (f64::from(VIRIDIS[below][i]), f64::from(VIRIDIS[below + 1][i]));
        (from + part * (to - from)).round() as u8
    });
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viridis_has_the_published_ends() {
        assert_eq!(viridis(0.0), "#440154");
        assert_eq!(viridis(1.0), "#fde725");
        assert_eq!((viridis(-1.0), viridis(2.0)), (viridis(0.0), viridis(1.0)));
    }

    #[test]
    fn repeated_colors_are_dashed() {
        assert_eq!((series(0), dashes(0)), (series(7), None));
        assert!(dashes(7).is_some());
        assert_ne!(dashes(7), dashes(14));
    }
}
