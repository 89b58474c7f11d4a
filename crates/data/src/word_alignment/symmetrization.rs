//! One alignment from those of both directions.

use std::str::FromStr;

use super::links::WordLinks;

/// How the alignments of both directions are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symmetrization {
    /// Those of both, their neighbors that one direction has, and links of words that have none yet (Koehn et
    /// al. 2003).
    #[default]
    GrowDiagFinalAnd,
    /// Links that both directions have.
    Intersection,
    /// Links that one direction has.
    Union,
    /// Each target word has at most one source word.
    Forward,
    /// Each source word has at most one target word.
    Backward,
}

impl Symmetrization {
    /// Every way, with its name.
    const NAMES: [(Self, &'static str); 5] = [
        (Self::GrowDiagFinalAnd, "grow-diag-final-and"),
        (Self::Intersection, "intersection"),
        (Self::Union, "union"),
        (Self::Forward, "forward"),
        (Self::Backward, "backward"),
    ];

    /// The links of both directions, combined.
    pub(super) fn combined(self, forward: &WordLinks, backward: &WordLinks) -> WordLinks {
        match self {
            Self::Forward => forward.clone(),
            Self::Backward => backward.clone(),
            Self::Intersection => forward.0.intersection(&backward.0).copied().collect(),
            Self::Union => forward.0.union(&backward.0).copied().collect(),
            Self::GrowDiagFinalAnd => grown(forward, backward),
        }
    }
}

/// The eight neighbors of a link.
const NEIGHBORS: [(isize, isize); 8] = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)];

fn grown(forward: &WordLinks, backward: &WordLinks) -> WordLinks {
    let union: WordLinks = forward.0.union(&backward.0).copied().collect();
    let mut links: WordLinks = forward.0.intersection(&backward.0).copied().collect();
    let has = |links: &WordLinks, src: usize, tgt: usize| {
        [links.0.iter().any(|link| link.0 == src), links.0.iter().any(|link| link.1 == tgt)]
    };
    loop {
        let before = links.0.len();
        for (src, tgt) in links.0.clone() {
            for (rows, columns) in NEIGHBORS {
                let (Some(src), Some(tgt)) = (src.checked_add_signed(rows), tgt.checked_add_signed(columns))
                else {
                    continue;
                };
                if union.0.contains(&(src, tgt)) && has(&links, src, tgt) != [true; 2] {
                    links.0.insert((src, tgt));
                }
            }
        }
        if links.0.len() == before {
            break;
        }
    }
    for direction in [forward, backward] {
        for &(src, tgt) in &direction.0 {
            if has(&links, src, tgt) == [false; 2] {
                links.0.insert((src, tgt));
            }
        }
    }
    links
}

impl FromStr for Symmetrization {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::NAMES.into_iter().find(|(_, known)| *known == name);
        found.map(|(one, _)| one).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMES.iter().map(|(_, name)| *name).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}
