//! Which words of a translation belong to which words of its source.

use std::collections::HashMap;

use crate::{Segment, TranslatedSegment};

/// The words of `source` that belong to each word of `target`, ascending: those of the alignment, or if there
/// is none those at the same share of the length.
pub(super) fn links(
    segment: &Segment,
    translated: &TranslatedSegment,
    source: &[&str],
    target: &[&str],
) -> Vec<Vec<usize>> {
    let (src_len, tgt_len) = (source.len(), target.len());
    let mut links = vec![Vec::new(); tgt_len];
    let valid = |&&(src, tgt): &&(usize, usize)| src < src_len && tgt < tgt_len;
    if segment.needs_alignment {
        for &(src, tgt) in translated.alignment.iter().filter(valid) {
            links[tgt].push(src);
        }
    }
    if links.iter().all(Vec::is_empty) && tgt_len > 0 {
        for (tgt, links) in links.iter_mut().enumerate() {
            links.push((2 * tgt + 1) * src_len / (2 * tgt_len));
        }
        for src in 0..src_len {
            links[(2 * src + 1) * tgt_len / (2 * src_len)].push(src);
        }
    }
    for links in &mut links {
        links.sort_unstable();
        links.dedup();
    }
    if segment.needs_alignment {
        link_copied(&mut links, source, target);
    }
    links
}

/// Links words that both sides have once, such as names, to each other alone: alignments of models often link
/// the words beside a name to it, too. An ordinary word may mean something else in the other language, so it
/// counts only if the alignment agrees.
fn link_copied(links: &mut [Vec<usize>], source: &[&str], target: &[&str]) {
    let in_target = once(target);
    for (word, src) in once(source) {
        let Some(&tgt) = in_target.get(word) else {
            continue;
        };
        if links[tgt].contains(&src) || word.contains(|c: char| c.is_uppercase() || c.is_numeric()) {
            links.iter_mut().for_each(|sources| sources.retain(|&other| other != src));
            links[tgt] = vec![src];
        }
    }
}

/// The places of the words of three characters and more that occur once, without the punctuation around them.
fn once<'a>(words: &[&'a str]) -> HashMap<&'a str, usize> {
    const SHORTEST: usize = 3;
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, word) in words.iter().enumerate() {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
        if inner.chars().count() >= SHORTEST && inner.contains(char::is_alphabetic) {
            places.entry(inner).or_default().push(place);
        }
    }
    let single =
        |(word, places): (&'a str, Vec<usize>)| Some((word, *places.first().filter(|_| places.len() == 1)?));
    places.into_iter().filter_map(single).collect()
}
