//! `attentive bench`.

use serde_json::Value;

use crate::run::Folder;

/// The measurements of `attentive bench` with these options.
fn measured(options: &str) -> Vec<Value> {
    let done = Folder::new().run(&format!("bench --json {options}"));
    assert_eq!(done.code, Some(0), "{done:?}");
    let lines = done.stdout.lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_positive(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number > 0.0 && number.is_finite())
}

#[test]
fn ceilings_are_rates_on_one_thread_and_on_all() {
    let [found] = &measured("--only ceilings --threads 2")[..] else {
        panic!("one measurement");
    };
    assert_eq!(found["threads"], 2);
    let products = found["products"].as_array().unwrap();
    let names: Vec<&Value> = products.iter().map(|one| &one["precision"]).collect();
    assert_eq!(names, ["f32", "bf16", "int8"]);
    let rates = products.iter().map(|one| &one["operations"]);
    for rates in rates.chain([&found["l2"], &found["ram"], &found["copy"]]) {
        assert!(rates.as_array().unwrap().iter().all(is_positive), "{found}");
    }
}

#[test]
fn training_is_measured_update_by_update() {
    let found = measured("--only training --model tiny --precision f32 --steps 2");
    let [found] = &found[..] else {
        panic!("one measurement");
    };
    assert_eq!(found["seconds"].as_array().unwrap().len(), 2);
    // Random tokens of 10,000: ln 10,000.
    let loss = found["losses"][1].as_f64().unwrap();
    assert!((loss - 9.2).abs() < 0.5, "{loss}");
    // 2 · 3 · 2.59 million multiply-adds a token, and those of attention.
    let operations = found["operations"].as_array().unwrap();
    let flops: f64 = operations.iter().filter_map(|one| one["flops"].as_f64()).sum();
    let per_token = flops / found["tokens"].as_f64().unwrap() / 1e6;
    assert!((15.0..18.0).contains(&per_token), "{per_token}");
}

#[test]
fn a_try_measures_everything_with_little_work() {
    let found = measured("--quick --model tiny --precision f32 --only training --only translation");
    let [training, translation @ ..] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(training["tokens"], 16);
    assert_eq!(training["seconds"].as_array().unwrap().len(), 1);
    assert_eq!(translation.len(), 4);
    for one in translation {
        assert_eq!(one["tokens"].as_u64(), one["sentences"].as_u64().map(|n| 4 * n));
    }
    let done = Folder::new().run("bench --quick --length 8");
    assert_eq!(done.code, Some(2), "{done:?}");
}

#[test]
fn translation_is_compared_with_its_bound() {
    let found = measured("--only translation --model tiny --precision int8");
    assert_eq!(found.len(), 4);
    for one in &found {
        let sentences = one["sentences"].as_u64().unwrap();
        assert_eq!(one["tokens"].as_u64(), Some(32 * sentences), "{one}");
        let [bound, seconds] = ["bound", "seconds"].map(|key| one[key].as_f64().unwrap());
        assert!(bound > 0.0 && seconds > 0.0, "{one}");
    }
}

#[test]
fn tables_have_titles_and_what_cannot_be_measured_is_refused() {
    let folder = Folder::new();
    let done = folder.succeeds("bench --only training --model tiny --precision bf16 --steps 1");
    assert!(done.stdout.starts_with("Training tiny in bf16, "), "{}", done.stdout);
    assert!(done.stdout.contains("\nlinear "), "{}", done.stdout);
    let done = folder.run("bench --only training --precision int8");
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("training has no int8"), "{done:?}");
    let done = folder.run("bench --device gpu --only training --precision bf16");
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("training on a GPU has no bf16"), "{done:?}");
    // Nothing would be measured.
    for options in ["--only translation --model lstm", "--device gpu --precision bf16 --model lstm"] {
        let done = folder.run(&format!("bench {options}"));
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains("nothing is measured"), "{done:?}");
    }
    for options in ["--precision int8", "--only ceilings"] {
        let done = folder.run(&format!("bench --device gpu {options}"));
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(
            done.stderr
                .contains("on a GPU, only training in f32 and translation with weights in f32 or bf16"),
            "{done:?}"
        );
    }
}
