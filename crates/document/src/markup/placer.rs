//! Places markup in a translation.

use std::ops::Range;

use super::blanks::Neighbors;
use super::source_format::SourceFormat;
use super::target_text::TargetText;
use super::tree::{Element, Markup, MarkupNode};
use super::writer::MarkupWriter;

/// Writes a translation with the markup of its source.
pub(super) struct Placer<'a> {
    markup: &'a Markup,
    target: &'a TargetText,
    writer: MarkupWriter<'a>,
    src_units: usize,
    /// For each unit of the source, the slot of the element that contains it, plus one. Zero between uses.
    slots: Vec<usize>,
}

/// The part of the target that the content of an element takes.
struct Area {
    /// Units of the source.
    span: Range<usize>,
    /// Units of the target.
    target: Range<usize>,
    /// The byte of the target at which it ends.
    end: usize,
}

/// A child of the element whose content is placed.
struct Slot {
    node: usize,
    place: Place,
}

#[derive(Clone, PartialEq)]
enum Place {
    Unknown,
    /// Around these units of the target, of which there is at least one.
    Around(Range<usize>),
    /// Before this unit of the target.
    Before(usize),
}

/// A sequence of target units that belong to one slot and are not interrupted by units of another.
struct Stretch {
    slot: usize,
    units: Range<usize>,
    /// The units that belong to it and are not only punctuation.
    owned: usize,
}

impl<'a> Placer<'a> {
    pub(super) fn new(
        markup: &'a Markup,
        src_units: usize,
        target: &'a TargetText,
        format: SourceFormat,
    ) -> Self {
        Self {
            markup,
            target,
            writer: MarkupWriter::new(&target.text, format, markup),
            src_units,
            slots: vec![0; src_units],
        }
    }

    /// Appends everything to `out`.
    pub(super) fn write(mut self, out: &mut String) {
        let area =
            Area { span: 0..self.src_units, target: 0..self.target.units.len(), end: self.target.text.len() };
        let end = area.end;
        let markup = self.markup;
        self.fill(markup.top.iter().copied(), &area);
        self.writer.text_to(end);
        out.push_str(&self.writer.finish());
    }

    /// Places `nodes` in `area` and writes them, with the text up to the last of them.
    fn fill(&mut self, nodes: impl Iterator<Item = usize>, area: &Area) {
        let mut slots: Vec<Slot> = nodes.map(|node| Slot { node, place: Place::Unknown }).collect();
        self.place_around(&mut slots, area);
        self.place_before(&mut slots, area);
        let mut order: Vec<(usize, bool, usize)> = Vec::with_capacity(slots.len());
        for (number, slot) in slots.iter().enumerate() {
            match &slot.place {
                Place::Around(units) => order.push((units.start, true, number)),
                Place::Before(unit) => order.push((*unit, false, number)),
                Place::Unknown => {}
            }
        }
        order.sort_unstable();
        for (.., number) in order {
            self.write_slot(&slots[number], area);
        }
    }

    fn write_slot(&mut self, slot: &Slot, area: &Area) {
        let (target, start, end) = match &slot.place {
            Place::Around(units) => {
                let bytes = |unit: usize| &self.target.units[unit];
                (units.clone(), bytes(units.start).start, bytes(units.end - 1).end)
            }
            Place::Before(unit) => {
                let at = self.byte_before(*unit, slot.node, area);
                (*unit..*unit, at, at)
            }
            Place::Unknown => return,
        };
        self.writer.text_to(start);
        let markup = self.markup;
        match &markup.nodes[slot.node] {
            MarkupNode::Point(point) => self.writer.point(point),
            MarkupNode::Element(element) => {
                if let Some(neighbors) = self.first_visible(element) {
                    self.writer.approach(neighbors);
                }
                let inside = self.writer.open(&element.open);
                let inner = Area { span: element.span.clone(), target, end };
                self.fill(element.children.iter().copied(), &inner);
                self.writer.text_to(end);
                self.writer.close(&element.open, inside, &element.close);
            }
        }
    }

    /// The neighbors of the content that `element` begins with, if this is visible and not translated.
    fn first_visible(&self, element: &Element) -> Option<Neighbors> {
        let first = &self.markup.nodes[*element.children.first()?];
        match first {
            _ if first.at() > element.span.start => None,
            MarkupNode::Point(point) => point.visible,
            MarkupNode::Element(inner) => self.first_visible(inner),
        }
    }

    /// The byte at which `node` is placed if it is placed before `unit`.
    fn byte_before(&self, unit: usize, node: usize, area: &Area) -> usize {
        let follows = matches!(&self.markup.nodes[node], MarkupNode::Point(point) if point.follows);
        if unit >= area.target.end {
            area.end
        } else if follows && unit > area.target.start {
            self.target.units[unit - 1].end
        } else {
            self.target.units[unit].start
        }
    }

    /// Finds the places of elements with aligned words.
    fn place_around(&mut self, slots: &mut [Slot], area: &Area) {
        if area.target.is_empty() {
            return;
        }
        let markup = self.markup;
        let mut with_words = slots.iter_mut().filter(|slot| !markup.nodes[slot.node].span().is_empty());
        if let (Some(only), None) = (with_words.next(), with_words.next())
            && markup.nodes[only.node].span() == area.span
        {
            only.place = Place::Around(area.target.clone());
            return;
        }
        let owners = self.owners(slots, area);
        let mut best: Vec<Option<Stretch>> = slots.iter().map(|_| None).collect();
        for stretch in self.stretches(&owners, area.target.start) {
            let best = &mut best[stretch.slot];
            if best.as_ref().is_none_or(|b| b.owned < stretch.owned) {
                *best = Some(stretch);
            }
        }
        for (slot, best) in slots.iter_mut().zip(best) {
            if let Some(stretch) = best {
                slot.place = Place::Around(stretch.units);
            }
        }
    }

    /// For each unit of the area, the slot to which most of its sources belong; the first one of several.
    fn owners(&mut self, slots: &[Slot], area: &Area) -> Vec<Option<usize>> {
        for (number, slot) in slots.iter().enumerate() {
            self.slots[self.markup.nodes[slot.node].span()].fill(number + 1);
        }
        let owner = |unit: usize| {
            let sources = &self.target.sources[unit];
            let slots = sources.iter().filter_map(|&s| self.slots[s].checked_sub(1));
            most_frequent(slots.collect())
        };
        let owners = area.target.clone().map(owner).collect();
        for slot in slots {
            self.slots[self.markup.nodes[slot.node].span()].fill(0);
        }
        owners
    }

    /// The stretches of slots in `owners`; the first owner is that of unit `first`. Punctuation extends a
    /// stretch only if it is next to it.
    fn stretches(&self, owners: &[Option<usize>], first: usize) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for (place, owner) in owners.iter().enumerate() {
            let Some(slot) = *owner else {
                continue;
            };
            let unit = first + place;
            let is_word = self.target.is_word(unit);
            match stretches.last_mut() {
                Some(last) if last.slot == slot && (last.units.end == unit || is_word && last.owned > 0) => {
                    last.units.end = unit + 1;
                    last.owned += usize::from(is_word);
                }
                Some(last) if last.slot == slot && !is_word => {}
                _ => stretches.push(Stretch { slot, units: unit..unit + 1, owned: usize::from(is_word) }),
            }
        }
        stretches
    }

    /// Finds the places of all other nodes, which are never inside an element placed before.
    fn place_before(&self, slots: &mut [Slot], area: &Area) {
        let mut taken: Vec<(Range<usize>, usize)> = Vec::new();
        for slot in slots.iter() {
            if let Place::Around(units) = &slot.place {
                taken.push((units.clone(), self.markup.nodes[slot.node].at()));
            }
        }
        taken.sort_unstable_by_key(|(units, _)| units.start);
        for slot in slots.iter_mut().filter(|slot| slot.place == Place::Unknown) {
            let node = &self.markup.nodes[slot.node];
            let mut unit = self.unit_for(node, area);
            let around = taken.partition_point(|(units, _)| units.end <= unit);
            if let Some((units, at)) = taken.get(around)
                && units.start <= unit
            {
                unit = if node.at() <= *at { units.start } else { units.end };
            }
            slot.place = Place::Before(unit);
        }
    }

    /// The unit of the target before which `node` is placed: the unit of the source unit after it, otherwise
    /// the unit after the one of the source unit before it, otherwise a unit in proportion.
    fn unit_for(&self, node: &MarkupNode, area: &Area) -> usize {
        let (at, span, target) = (node.at(), &area.span, &area.target);
        if at <= span.start || target.is_empty() {
            return target.start;
        }
        if at >= span.end {
            return target.end;
        }
        let inside = |source: usize| {
            let units = self.target.targets[source].iter();
            units.copied().filter(|unit| target.contains(unit))
        };
        let (next, last) = (inside(at).min(), inside(at - 1).max().map(|unit| unit + 1));
        let follows = matches!(node, MarkupNode::Point(point) if point.follows);
        let linked = if follows { last.or(next) } else { next.or(last) };
        linked.unwrap_or_else(|| target.start + (at - span.start) * target.len() / span.len().max(1))
    }
}

/// The most frequent of `numbers`; the smallest one of several.
fn most_frequent(mut numbers: Vec<usize>) -> Option<usize> {
    numbers.sort_unstable();
    let groups = numbers.chunk_by(|a, b| a == b);
    let longest = groups.reduce(|best, group| if group.len() > best.len() { group } else { best });
    longest.map(|group| group[0])
}
