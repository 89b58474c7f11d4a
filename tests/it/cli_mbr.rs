//! `attentive translate --mbr`.

use crate::cli_model::{stdout, trained};

#[test]
fn the_choice_does_not_depend_on_other_lines() {
    let folder = trained();
    for how in ["--beam-width 4", "--sample --epsilon 0.02 --candidates 8"] {
        for metric in ["chrf", "bleu"] {
            let translate = |more: &str| {
                stdout(
                    &folder,
                    &format!("translate runs/c src {how} --mbr {metric} --max-new-tokens 8 {more}"),
                )
            };
            let together = translate("--batch-size 5");
            assert_eq!(together.lines().count(), 5, "{together}");
            assert_eq!(translate("--batch-size 1"), together, "{how} {metric}");
        }
    }
}

#[test]
fn the_best_of_all_candidates_are_written() {
    let folder = trained();
    let translate = |more: &str| {
        stdout(&folder, &format!("translate runs/c src --sample --candidates 16 --max-new-tokens 8 {more}"))
    };
    let best = translate("--mbr chrf");
    let ranked = translate("--mbr chrf --n-best 3 --no-scores");
    let first: Vec<&str> = ranked.lines().take(3).collect();
    assert_eq!(first[0], best.lines().next().unwrap());
    assert!(first[0] != first[1] && first[1] != first[2], "{first:?}");
    let drawn = stdout(&folder, "translate runs/c src --sample --n-best 16 --max-new-tokens 8 --no-scores");
    assert!(first.iter().all(|text| drawn.lines().any(|line| line == *text)), "{first:?} in {drawn}");
}

#[test]
fn a_choice_of_one_is_refused() {
    let folder = trained();
    folder.fails(
        "translate runs/c src --mbr chrf --beam-width 1",
        2,
        &["nothing to choose from", "--sample"],
    );
    folder.fails(
        "translate runs/c src --mbr chrf --sample --candidates 4 --n-best 5",
        2,
        &["`--n-best 5` is more than the 4 translations", "raise `--candidates`"],
    );
    folder.fails("translate runs/c src --candidates 4", 2, &["--mbr"]);
    folder.fails("translate runs/c src --epsilon 0.02", 2, &["have no effect on a search"]);
    folder.fails("translate runs/c src --sample --epsilon 1", 2, &["epsilon", "a probability below 1"]);
}
