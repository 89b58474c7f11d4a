//! `attentive demo --ladder`.

use std::fs;

use crate::run::Folder;

#[test]
fn a_ladder_replaces_nothing_that_it_was_not_told_to() {
    let folder = Folder::new();
    for file in ["lengths.svg", "rnn/mine", "corpus/train.src"] {
        let (out, name) = (format!("out-{}", file.len()), file.split('/').next().unwrap());
        let path = folder.path(format!("{out}/{file}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let command = format!("demo --ladder --output {out}");
        folder.fails(&command, 2, &[&format!("{name}` exists"), "--resume", "--force"]);
        assert_eq!(fs::read_dir(folder.path(&out)).unwrap().count(), 1, "{file}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
    fs::create_dir_all(folder.path("other/corpus")).unwrap();
    folder.write("other/corpus/train.src", "1 2 3\n");
    folder.fails("demo --ladder --output other --resume", 2, &["another corpus", "--seed"]);
    folder.write("file", "mine");
    folder.fails("demo --ladder --output file --force", 1, &["file"]);
    folder.fails("demo --ladder --task reverse", 2, &["--task"]);
}

#[test]
#[ignore = "trains four models, which takes about a minute"]
fn longer_sequences_are_reversed_on_each_rung() {
    let folder = Folder::new();
    let outcome = folder.run("demo --ladder --output out");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let longest = |name: &str| -> f64 {
        let row = outcome.stdout.lines().find(|line| line.starts_with(name)).unwrap();
        row.split_whitespace().last().unwrap().parse().unwrap()
    };
    let [rnn, lstm, attention] = ["rnn ", "lstm ", "lstm-attention "].map(longest);
    assert!(rnn + 10.0 < lstm && lstm + 5.0 < attention && attention > 95.0, "{}", outcome.stdout);
    assert!(longest("transformer ") > 95.0, "{}", outcome.stdout);
    for name in ["lengths.svg", "alignment.svg"] {
        assert!(fs::read_to_string(folder.path("out").join(name)).unwrap().starts_with("<svg "));
    }
}
