//! Options of other programs, and what there is here.

/// Options of other programs that choose a device.
pub(super) const DEVICES: [&str; 8] =
    ["--gpu", "--gpus", "--cuda", "--device", "--devices", "--use-gpu", "--mps", "--cpu"];

/// Options of other programs, and the options here with the same meaning.
pub(super) const FOREIGN: [(&str, &[&str]); 9] = [
    ("--json", &["--format"]),
    ("--beam-width", &["--beam", "--beam-size", "--beams", "--num-beams"]),
    ("--length-penalty", &["--normalize", "--lenpen", "--beam-alpha"]),
    ("--n-best", &["--nbest", "--num-return-sequences", "--num-hypotheses", "--n-samples"]),
    ("--max-new-tokens", &["--max-length", "--max-decoding-length", "--max-len"]),
    ("--no-repeat-ngram", &["--no-repeat-ngram-size"]),
    ("--batch-size", &["--mini-batch", "--max-batch-size"]),
    ("--precision", &["--dtype", "--compute-type", "--quantization", "--fp16", "--int8"]),
    ("--output", &["--save-dir"]),
];

/// Options that a command does not have, and what there is instead: the command, the options, the tip.
pub(super) const INSTEAD: [(&str, &[&str], &str); 30] = [
    (
        "compare",
        &["--checkpoint"],
        "name the folder of a checkpoint instead of the run: `RUN/checkpoints/step-N`",
    ),
    (
        "compare",
        &["--confidence"],
        "the intervals are always computed; the tables show those of the differences, and `--json` has all \
         of them",
    ),
    (
        "evaluate",
        &["--confidence"],
        "write the translations to a file with `--output out.txt`; `attentive score out.txt REF \
         --confidence` gives the intervals",
    ),
    (
        "score",
        &["-m", "--metrics"],
        "it is called `--metric` here, and several are separated by commas: `--metric bleu,chrf,ter`",
    ),
    (
        "score",
        &["-i", "--input"],
        "the translations are the first argument, and the references follow: `attentive score OUT REF`",
    ),
    ("score", &["-tok"], "it is called `--tokenize` here"),
    ("score", &["-lc"], "it is called `--lowercase` here"),
    ("score", &["-f"], "JSON is printed with `--json`"),
    ("score", &["-sl"], "it is called `--sentence-level` here"),
    ("score", &["-ci"], "it is called `--confidence` here"),
    (
        "score",
        &["-t", "--test-set", "-l", "--language-pair"],
        "test sets are not downloaded: `attentive score OUT REF` takes files",
    ),
    (
        "serve",
        &["--port", "-p", "--host"],
        "`--listen` takes address and port: `--listen 127.0.0.1:8080`, or `--listen 0.0.0.0:8080` for other \
         machines, too",
    ),
    ("translate", &["-b"], "it is called `--beam-width` here"),
    (
        "translate",
        &["-m", "--model", "--models", "--path"],
        "the model is the first argument: `attentive translate MODEL in.txt`; `--with MODEL2` adds another",
    ),
    (
        "translate",
        &["-i", "--input", "--src"],
        "the text is read from standard input, or from the file after the model: `attentive translate MODEL \
         in.txt`",
    ),
    (
        "translate",
        &["--max-length-factor", "--max-len-a", "--max-len-b"],
        "`--max-new-tokens` limits the tokens of a translation; the limit that grows with the source is \
         `decode.max_new_factor` and `decode.max_new_extra` of the model's configuration",
    ),
    ("translate", &["-v", "--vocabs"], "leave it out: the vocabulary is part of the model"),
    (
        "translate",
        &["--quiet", "-q", "--quiet-translation"],
        "nothing corresponds: translations go to standard output and messages to standard error, which `2> \
         FILE` redirects",
    ),
    ("train", &["-c", "--config"], "the configuration is the first argument: `attentive train my.toml`"),
    (
        "train",
        &["--model", "-m"],
        "it is called `--output` here, and names a directory; `--set model.from=DIR` starts from another \
         model",
    ),
    (
        "train",
        &["--type", "--task"],
        "configuration keys are set with `--set KEY=VALUE`: did you mean `model.family`?",
    ),
    (
        "train",
        &["--max-length"],
        "configuration keys are set with `--set KEY=VALUE`: did you mean `data.max_len`?",
    ),
    (
        "train",
        &["--max-length-crop"],
        "nothing corresponds: training leaves out sentences longer than `data.max_len`",
    ),
    (
        "train",
        &["--lr-decay-inv-sqrt"],
        "this is the default schedule, `train.schedule.kind = \"inverse_sqrt\"`: the decay begins after \
         `train.schedule.warmup_steps`",
    ),
    (
        "train",
        &["--mini-batch-fit", "-w", "--workspace"],
        "nothing corresponds: `--set train.batch_tokens=N` sets the size of a batch, and \
         `train.max_memory_mb` limits the RAM",
    ),
    ("train", &["--mini-batch"], "batches are measured in target tokens: `--set train.batch_tokens=N`"),
    (
        "train",
        &["--exponential-smoothing"],
        "nothing corresponds: `--set train.average_last=N` averages the last checkpoints instead",
    ),
    (
        "train",
        &["--overwrite"],
        "old checkpoints are deleted anyway, except the last `train.keep_last`; `--force` deletes an earlier \
         run in the output directory",
    ),
    ("train", &["--log", "--valid-log"], "leave it out: the run directory has a log, `metrics.jsonl`"),
    ("train", &["--keep-best"], "leave it out: the best checkpoint is always kept"),
];

/// Options of `train`, and what keys of other programs do the same.
pub(super) const AS_KEYS: [(&str, &[&str]); 3] = [
    (
        "threads",
        &[
            "num_threads",
            "n_threads",
            "cpu_threads",
            "num_workers",
            "workers",
            "dataloader_num_workers",
            "num_cpus",
            "cpus",
            "cores",
            "n_jobs",
        ],
    ),
    ("output", &["output_dir", "out", "out_dir", "run_dir", "save_dir"]),
    ("resume", &["resume_from_checkpoint"]),
];
