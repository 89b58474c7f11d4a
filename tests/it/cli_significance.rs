//! Intervals and paired tests of `attentive score`; the numbers are sacreBLEU 2.6.0's.

use serde_json::Value;

use crate::cli_score::{corpus, scores};
use crate::run::Folder;

/// The corpus with a second system.
fn two_systems() -> Folder {
    let folder = corpus();
    folder.write(
        "new",
        "The cat is sitting on a mat.\nEin alter Mann liest, und 1,5 Hunde schlafen!\nEntirely other words \
         here\n",
    );
    folder
}

fn json(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&scores(&folder.run(arguments))).unwrap()
}

#[test]
fn scores_with_intervals() {
    let folder = corpus();
    let expected = [
        "BLEU|nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp = 33.48 (μ = 32.00 ± 21.19) \
         68.4/50.0/30.8/18.2 (BP = 0.900 ratio = 0.905 hyp_len = 19 ref_len = 21)",
        "chrF2|nrefs:1|bs:1000|seed:12345|case:mixed|eff:yes|nc:6|nw:0|space:no = 48.56 (μ = 47.47 ± 33.53)",
        "TER|nrefs:1|bs:1000|seed:12345|case:lc|tok:tercom|norm:no|punct:yes|asian:no = 47.37 (μ = 48.68 ± \
         35.71)",
    ];
    let text = scores(&folder.run("score hyp ref1 --confidence"));
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    let one_thread = scores(&folder.run("score hyp ref1 --confidence --threads 1"));
    assert_eq!(one_thread, text);

    let json = json(&folder, "score hyp ref1 --metric ter --confidence --resamples 50 --seed 3 --json");
    let signature = json[0]["signature"].as_str().unwrap();
    assert!(signature.starts_with("nrefs:1|bs:50|seed:3|"), "{signature}");
    let [lower, mean, upper] =
        ["lower", "mean", "upper"].map(|key| json[0]["interval"][key].as_f64().unwrap());
    assert!(lower < mean && mean < upper, "{json}");
}

#[test]
fn systems_are_compared_with_the_first() {
    let folder = two_systems();
    let text = scores(&folder.run("score hyp ref1 --system new hyp --metric bleu"));
    let expected = "\
BLEU|nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp
system   BLEU      95 % interval  difference    95 % interval       p
hyp     33.48  μ = 32.00 ± 21.19
new     41.38  μ = 40.75 ± 19.52       +7.91  [-0.48, +20.41]  0.2907
hyp     33.48  μ = 32.00 ± 21.19       +0.00   [+0.00, +0.00]  1.0000

baseline: hyp
* p < 0.05, paired bootstrap with 1,000 resamples
";
    assert_eq!(text, expected);
}

#[test]
fn randomization_in_json() {
    let folder = two_systems();
    let json = json(&folder, "score hyp ref1 --system new --paired randomization --metric chrf,bleu --json");
    assert_eq!(
        (&json["test"], &json["trials"], &json["baseline"]),
        (&"randomization".into(), &10_000.into(), &"hyp".into())
    );
    let bleu = &json["metrics"][1];
    assert!(
        bleu["signature"].as_str().unwrap().starts_with("nrefs:1|bs:1000|ar:10000|seed:12345|case:mixed|")
    );
    let [hyp, new] = [0, 1].map(|place| &bleu["systems"][place]);
    assert_eq!(hyp["difference"], Value::Null);
    assert!((new["value"].as_f64().unwrap() - 41.38330205514417).abs() < 1e-9);
    assert_eq!(new["difference"]["p_value"], 1.0 / 10_001.0);
    assert!(new["difference"]["interval"]["upper"].as_f64().unwrap() > 20.0);

    let text =
        scores(&folder.run("score hyp ref1 --system new --paired randomization --trials 99 --metric bleu"));
    assert!(text.contains("0.0100  *\n"), "{text}");
    assert!(text.contains("ar:99|"), "{text}");
    assert!(text.contains("randomization with 99 trials"), "{text}");
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let folder = two_systems();
    folder.write("short", "one line\n");
    for (options, complaint) in [
        ("--paired bootstrap", ["requires two systems", "`--system`"]),
        ("--system new --trials 5", ["`--trials`", "`--paired randomization`"]),
        ("--seed 1", ["`--seed`", "`--confidence`"]),
        ("--resamples 10", ["`--resamples`", "`--confidence`"]),
        ("--confidence --resamples 0", ["--resamples", "invalid value '0'"]),
        ("--confidence --sentence-level", ["--confidence", "--sentence-level"]),
        ("--system - --system -", ["standard input", "once"]),
        ("--system new --paired t-test", ["t-test", "randomization"]),
    ] {
        folder.fails(&format!("score hyp ref1 {options}"), 2, &complaint);
    }
    folder.fails("score hyp ref1 --system new short", 1, &["`short`", "`hyp`", "3 lines"]);
    folder.fails("score hyp ref1 --system none", 1, &["none"]);
}
