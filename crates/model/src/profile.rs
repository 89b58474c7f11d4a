//! Profile of decoding: where the time goes.
//!
//! A profiled thread has a clock that counts for exactly one section of the work at any moment, so the
//! times of all sections add up to the time of the whole. Other threads have no clock, and pay for one
//! branch per timed call.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// A section of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileSection {
    /// Reading a model directory and packing its weights.
    Loading,
    /// From text to tokens.
    Tokenization,
    /// The encoder, and the keys and values that the decoder's attention reads from the memory.
    Encoder,
    /// Products with weights in the decoder, except for the output projection.
    Linear,
    /// Self-attention of the decoder without its linear maps.
    SelfAttention,
    /// Attention to the source without its linear maps.
    CrossAttention,
    /// Recurrent cells of the decoder without their linear maps.
    Cells,
    /// The rest of the decoder: embeddings, norms, residual connections, activation functions.
    DecoderRest,
    /// The output projection with the choice of the likeliest tokens.
    Projection,
    /// The search outside of the model: hypotheses, scores, and moving rows.
    Search,
    /// From tokens to text.
    Detokenization,
    /// Word alignments.
    Alignment,
    /// Threads that have finished while others have not.
    Waiting,
    /// Everything else, such as reading and writing.
    Rest,
}

impl ProfileSection {
    /// All sections, in the order of the work.
    pub const ALL: [Self; 14] = [
        Self::Loading,
        Self::Tokenization,
        Self::Encoder,
        Self::Linear,
        Self::SelfAttention,
        Self::CrossAttention,
        Self::Cells,
        Self::DecoderRest,
        Self::Projection,
        Self::Search,
        Self::Detokenization,
        Self::Alignment,
        Self::Waiting,
        Self::Rest,
    ];

    /// Whether everything within this section counts as this section.
    fn is_whole(self) -> bool {
        matches!(self, Self::Loading | Self::Encoder | Self::Projection)
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sentences that were translated; blank lines are none.
    pub sentences: usize,
    /// Their tokens without `</s>`.
    pub src_tokens: usize,
    /// Tokens of all translations that were returned, without `</s>`.
    pub tgt_tokens: usize,
    /// Decoding steps.
    pub steps: usize,
    /// Rows of all decoding steps.
    pub rows: usize,
}

/// Where the time went. With several threads that search side by side, the time of a section is the mean over
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    times: [Duration; ProfileSection::ALL.len()],
    /// What was done.
    pub counts: Counts,
}

impl Profile {
    /// The time of `section`.
    pub fn time(&self, section: ProfileSection) -> Duration {
        self.times[section as usize]
    }

    /// The time of all sections.
    pub fn total(&self) -> Duration {
        self.times.iter().sum()
    }
}

/// The clock of a thread.
struct Clock {
    profile: Profile,
    section: ProfileSection,
    /// When `section` began.
    since: Instant,
}

thread_local! {
    static CLOCK: RefCell<Option<Clock>> = const { RefCell::new(None) };
    /// Whether there is a clock; read more often than it.
    static ON: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` and returns where its time went. Results are the same as without a profile.
pub fn profiled<R>(work: impl FnOnce() -> R) -> (R, Profile) {
    begun_in(ProfileSection::Rest, work)
}

/// [`profiled`] for `work` that begins with `section`.
fn begun_in<R>(section: ProfileSection, work: impl FnOnce() -> R) -> (R, Profile) {
    let clock = Clock { profile: Profile::default(), section, since: Instant::now() };
    let (before, was_on) = (CLOCK.replace(Some(clock)), ON.replace(true));
    let result = work();
    switch(section);
    let clock = CLOCK.replace(before);
    ON.set(was_on);
    (result, clock.map(|clock| clock.profile).unwrap_or_default())
}

/// Runs `work`, whose time counts as `section`'s if this thread is profiled, except for that of sections
/// within it.
pub fn time<R>(section: ProfileSection, work: impl FnOnce() -> R) -> R {
    if !ON.get() {
        return work();
    }
    let around = CLOCK.with_borrow(|clock| clock.as_ref().map(|clock| clock.section));
    match around {
        Some(around) if !around.is_whole() => {
            switch(section);
            let result = work();
            switch(around);
            result
        }
        _ => work(),
    }
}

/// Lets the clock count for `section` from now on.
fn switch(section: ProfileSection) {
    change(|clock| {
        let now = Instant::now();
        clock.profile.times[clock.section as usize] += now - clock.since;
        (clock.section, clock.since) = (section, now);
    });
}

/// Notes what was done if this thread is profiled.
pub fn count(add: impl FnOnce(&mut Counts)) {
    if ON.get() {
        change(|clock| add(&mut clock.profile.counts));
    }
}

fn change(change: impl FnOnce(&mut Clock)) {
    CLOCK.with_borrow_mut(|clock| clock.as_mut().map(change));
}

/// Calls `run`, which searches with several threads, each profiled by the given [`Start`], and returns its
/// first result. The second one, the profiles of these threads, is added to the profile of this thread, which
/// waits for them.
pub fn side_by_side<R>(run: impl FnOnce(Start) -> (R, Vec<Profile>)) -> R {
    let start = Start { is_on: ON.get() };
    let (result, profiles) = time(ProfileSection::Waiting, || run(start));
    let threads = profiles.len() as u32;
    change(|clock| {
        for (index, time) in clock.profile.times.iter_mut().enumerate() {
            *time += profiles.iter().map(|of| of.times[index]).sum::<Duration>() / threads.max(1);
        }
        let worked = profiles.iter().map(Profile::total).sum::<Duration>() / threads.max(1);
        let waiting = &mut clock.profile.times[ProfileSection::Waiting as usize];
        *waiting = waiting.saturating_sub(worked);
        let counts = &mut clock.profile.counts;
        for profile in &profiles {
            counts.steps += profile.counts.steps;
            counts.rows += profile.counts.rows;
        }
    });
    result
}

/// Profiles the search of a thread if the one that waits for it is profiled.
#[derive(Clone, Copy)]
pub struct Start {
    is_on: bool,
}

impl Start {
    /// Runs the search `work` of this thread.
    pub fn search<R>(self, work: impl FnOnce() -> R) -> (R, Profile) {
        if self.is_on { begun_in(ProfileSection::Search, work) } else { (work(), Profile::default()) }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{self, sleep};

    use super::*;

    const MOMENT: Duration = Duration::from_millis(5);

    fn times(profile: &Profile) -> Vec<ProfileSection> {
        let sections = ProfileSection::ALL.into_iter();
        sections.filter(|&section| profile.time(section) >= MOMENT).collect()
    }

    #[test]
    fn parts_within_parts_are_counted_once() {
        let begin = Instant::now();
        let ((), profile) = profiled(|| {
            time(ProfileSection::SelfAttention, || {
                sleep(MOMENT);
                time(ProfileSection::Linear, || sleep(MOMENT));
            });
            time(ProfileSection::Encoder, || time(ProfileSection::Linear, || sleep(2 * MOMENT)));
            count(|counts| counts.steps += 3);
        });
        assert!(profile.total() <= begin.elapsed());
        assert!(profile.total() >= 4 * MOMENT);
        let sections = [ProfileSection::Encoder, ProfileSection::Linear, ProfileSection::SelfAttention];
        assert_eq!(times(&profile), sections);
        assert!(profile.time(ProfileSection::Encoder) >= 2 * MOMENT);
        assert_eq!(profile.counts.steps, 3);
    }

    #[test]
    fn nothing_is_recorded_outside_of_a_profile() {
        let work = || {
            time(ProfileSection::Linear, || sleep(MOMENT));
            count(|counts| counts.steps += 1);
        };
        work();
        let ((), none) = profiled(|| ());
        work();
        let ((), start) = profiled(|| {
            thread::spawn(work).join().unwrap();
        });
        for profile in [none, start] {
            assert_eq!(profile.time(ProfileSection::Linear), Duration::ZERO);
            assert_eq!(profile.counts, Counts::default());
        }
    }

    #[test]
    fn threads_side_by_side_count_by_their_mean() {
        let run = |start: Start| {
            let work = move |moments| {
                let search = move || {
                    time(ProfileSection::Linear, || sleep(moments * MOMENT));
                    count(|counts| counts.steps += 1);
                };
                start.search(search).1
            };
            let threads = [2, 6].map(|moments| thread::spawn(move || work(moments)));
            ((), threads.map(|thread| thread.join().unwrap()).to_vec())
        };
        let begin = Instant::now();
        let ((), profile) = profiled(|| side_by_side(run));
        assert!(profile.total() <= begin.elapsed());
        assert!(profile.time(ProfileSection::Linear) >= 4 * MOMENT);
        assert!(profile.total() >= 6 * MOMENT);
        assert_eq!(profile.counts.steps, 2);
        // Without a profile, there is none of the threads either.
        side_by_side(|start| {
            let ((), profile) = start.search(|| time(ProfileSection::Linear, || sleep(MOMENT)));
            assert_eq!(profile, Profile::default());
            ((), vec![profile])
        });
    }
}
