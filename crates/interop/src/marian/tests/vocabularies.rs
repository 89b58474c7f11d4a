//! Tests of vocabularies and tokens.

use super::*;

#[test]
fn words_are_looked_up() {
    let foreign = ForeignModel::open(&fixture("npz"), None, &Languages::default()).unwrap();
    let tokenizer = foreign.tokenizers.src();
    let ids = |text: &str| tokenizer.encode(text).unwrap();
    assert_eq!(ids("\" : -  it's a\\b # ä w27"), [2, 3, 4, 5, 6, 7, 8, 36]);
    // A special token in a text is split in two.
    assert_eq!(ids("new w0 </s>"), [1, 9, 1, 1]);
    assert_eq!(tokenizer.decode(&[5, 9, 36]).unwrap(), "it's w0 w27");
    let special = tokenizer.special();
    assert_eq!((special.eos, special.unk, special.start), (0, 1, 37));
    assert_eq!((tokenizer.vocab_size(), special.pad), (38, 37));
}

/// The vocabulary holds pieces as strings, into which models of SentencePiece divide a text.
#[test]
fn pieces_are_looked_up_as_strings() {
    let folder = copied("ssru");
    let spm = folder.path().join("vocab.spm");
    let own = crate::sentencepiece::SentencePiece::read(&spm).unwrap();
    // The pieces are in another order, and some are missing.
    let mut texts: Vec<String> = own.texts().skip(3).take(500).map(str::to_owned).collect();
    texts.reverse();
    let tokens = ["</s>".to_owned(), "<unk>".to_owned()].into_iter().chain(texts);
    let lines: Vec<String> = (0..)
        .zip(tokens)
        .map(|(id, token)| format!("{}: {id}\n", serde_json::to_string(&token).unwrap()))
        .collect();
    fs::write(folder.path().join("vocab.yml"), lines.concat()).unwrap();
    for side in ["source.spm", "target.spm"] {
        fs::copy(&spm, folder.path().join(side)).unwrap();
    }
    fs::remove_file(&spm).unwrap();
    let whole = ForeignModel::open(&fixture("ssru"), None, &Languages::default()).unwrap();
    let foreign = ForeignModel::open(folder.path(), None, &Languages::default()).unwrap();
    assert_eq!(foreign.config.tokenizer.special.unknown_from, 604);
    let text = "ein Haus, zwei Häuser";
    let pieces = whole.tokenizers.src().encode(text).unwrap();
    let found = foreign.tokenizers.src().encode(text).unwrap();
    let expected: Vec<TokenId> = pieces
        .iter()
        .map(|&piece| match piece {
            3..503 => 2 + 499 - (piece - 3),
            _ => 1,
        })
        .collect();
    assert_eq!(found, expected);
    assert!(expected.contains(&1) && expected.iter().any(|&id| id > 1));
}

#[test]
fn vocabularies_must_fit() {
    let folder = copied("npz");
    let path = folder.path().join("vocab.yml");
    let text = fs::read_to_string(&path).unwrap();
    let problem = |text: &str| {
        fs::write(&path, text).unwrap();
        refusal(folder.path())
    };
    assert!(problem(&text.replace("w0: 9", "w0: x")).contains("`w0` has no id"));
    assert!(problem(&text.replace("w0: 9", "w0: 10")).contains("have the same id 10"));
    assert!(problem(&text.replace("</s>: 0", "end: 0")).contains("special token `eos` is missing"));
    // Tokens beyond the model's size are ignored, and rows without a token get one.
    fs::write(&path, text.replace("w0: 9", "w0: 1000")).unwrap();
    let tokenizers = ForeignModel::open(folder.path(), None, &Languages::default()).unwrap().tokenizers;
    assert_eq!(tokenizers.src().encode("w0 w1").unwrap(), [1, 10]);
    assert_eq!(tokenizers.src().token(9).unwrap(), "<unused-9>");
}
