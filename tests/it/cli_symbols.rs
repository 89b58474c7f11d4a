//! Models of several languages, named by symbols.

use crate::cli_model::stdout;
use crate::run::Folder;

/// A folder with the run `m`, which translates letters into digits (`>>de<<`) or in reverse (`>>fr<<`).
fn trained() -> Folder {
    let folder = Folder::new();
    let letters = ["a b c", "b a", "c c a", "a", "b c a b", "c b"];
    let digits = |line: &str| line.replace('a', "1").replace('b', "2").replace('c', "3");
    let turned = |line: &str| line.chars().rev().collect::<String>();
    let lines = |map: &dyn Fn(&str) -> String| {
        letters.iter().cycle().take(60).map(|line| map(line) + "\n").collect::<String>()
    };
    folder.write("src", lines(&str::to_owned)).write("de", lines(&digits)).write("fr", lines(&turned));
    let data = "[data]\ntrain = [{ src = 'src', tgt = 'de', tag = '>>de<<' }, { src = 'src', tgt = 'fr', tag = \
                '>>fr<<' }]\nvalid = { src = 'src', tgt = 'fr', tag = '>>fr<<' }\n[tokenizer]\nkind = 'word'\n\
                vocab_size = 20\nsymbols = ['>>de<<', '>>fr<<']\n[model]\nd_model = 16\nd_ff = 32\nn_heads = 2\n\
                n_encoder_layers = 1\nn_decoder_layers = 1\nnorm_position = 'pre'\npositions = 'rotary'\ndropout = \
                0.0\n[train]\nmax_steps = 250\nbatch_tokens = 256\nvalidate_every = 250\nsave_every = 250\n\
                label_smoothing = 0.0\noptimizer = { learning_rate = 0.02 }\nschedule = { warmup_steps = 20 }\n\
                [decode]\nbeam_width = 1\n";
    folder.write("c.toml", data);
    folder.succeeds("train c.toml --output m");
    folder
}

#[test]
fn a_model_of_two_languages_is_told_which_one_is_meant() {
    let folder = trained();
    folder.write("in", "b a\nc c a\n").write("marked", ">>de<< b a\n>>fr<< c c a\n");
    assert_eq!(stdout(&folder, "translate m in --target-lang de"), "2 1\n3 3 1\n");
    assert_eq!(stdout(&folder, "translate m in --target-lang fr"), "a b\na c c\n");
    assert_eq!(stdout(&folder, "translate m marked"), "2 1\na c c\n");
    assert_eq!(stdout(&folder, "translate m in --target-lang >>fr<<"), "a b\na c c\n");
    // The line itself knows better.
    assert_eq!(stdout(&folder, "translate m marked --target-lang fr"), "2 1\na c c\n");
    let silent = folder.succeeds("translate m in");
    for words in ["line 1", "line 2", "does not begin with one of >>de<<, >>fr<<"] {
        assert!(silent.stderr.contains(words), "{silent:?}");
    }
    folder.fails("translate m in --source-lang de", 2, &["`>>de<<` names the language of translations"]);
    folder.fails("translate m in --target-lang it", 2, &["no language `it`", ">>de<<"]);
    folder.write("ref", "a b\na c c\n");
    let scored = stdout(&folder, "evaluate m --src in --ref ref --target-lang fr --json");
    assert!(scored.contains("\"correct\": 2") || scored.contains("\"correct\":2"), "{scored}");
    let silent = folder.run("evaluate m --src in --ref ref");
    assert!(silent.stderr.contains("does not begin with one of >>de<<, >>fr<<"), "{silent:?}");
    folder.fails(
        "train c.toml --output n --set data.valid.tag=x",
        2,
        &["one of `tokenizer.symbols`", "add it"],
    );
}

#[cfg(feature = "server")]
#[test]
fn both_languages_are_served_with_the_same_weights() {
    use serde_json::json;

    use attentive::server::{ServeConfig, ServedModel};

    use crate::support::http::post;
    use crate::support::serving::Running;

    let folder = trained();
    let models = ["en-de", "en-fr", "any"].map(|name| ServedModel::new(name, folder.path("m")));
    let server = Running::start(ServeConfig {
        listen: "127.0.0.1:0".into(),
        threads: 1,
        ..ServeConfig::new(models.into())
    });
    let translate = |target: &str| {
        let asked = json!({"q": "c c a", "source": "en", "target": target});
        post(server.address, "/translate", &asked).expect(200)["translatedText"].clone()
    };
    assert_eq!([translate("de"), translate("fr")], ["3 3 1", "a c c"]);
    // One that is served without languages does not take those of another one.
    let any = |text: &str| {
        let asked = json!({"model": "any", "text": text, "max_new_tokens": 3});
        let found = post(server.address, "/api/translate", &asked).expect(200);
        (found["results"][0]["translations"][0]["text"].clone(), found["results"][0]["warnings"].clone())
    };
    assert_eq!(any(">>de<< c c a").0, "3 3 1");
    let (_, warnings) = any("c c a");
    assert!(warnings.to_string().contains("does not begin with one of >>de<<, >>fr<<"), "{warnings}");
}
