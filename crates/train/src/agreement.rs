//! Whether all processes have the same configuration, version and products.

use attentive_base::error::{Error, Result};
use attentive_checkpoint::Provenance;
use attentive_config::{Config, KeyDifference, OptimizerKind};
use attentive_device::current;
use attentive_model::engine::Precision;
use attentive_processes::Processes;

use super::Learner;
use super::frozen::Frozen;

/// Checks the configuration, and compares it with the other processes'.
pub(super) fn check_config(config: &Config, processes: &Processes) -> Result<()> {
    let checked = config.validate().and_then(|()| check_frozen(config));
    if processes.is_alone() {
        return checked;
    }
    let first = config_of_first(&Provenance::this_program(), config, processes);
    checked?;
    let first = first?;
    if let Some(KeyDifference { key, ours, theirs }) = first.difference(config) {
        return Err(Error::Config {
            key,
            expected: format!("{ours}, as in process 0"),
            found: theirs,
            hint: Some("give all processes the same configuration".into()),
        });
    }
    if config.train.optimizer.kind == OptimizerKind::Muon {
        return Err(Error::Config {
            key: "train.optimizer.kind".into(),
            expected: "another optimizer, since there are several processes".into(),
            found: "`muon`".into(),
            hint: Some("Muon needs whole matrices, of which each process updates a part; use `adamw`".into()),
        });
    }
    let (accumulate, n) = (config.train.micro_batches_per_update, processes.count());
    if accumulate < n {
        return Err(Error::Config {
            key: "train.micro_batches_per_update".into(),
            expected: format!("at least {n}, a micro-batch for each process"),
            found: accumulate.to_string(),
            hint: Some(
                "it counts the micro-batches of an update over all processes; a multiple of their number \
                        keeps all of them busy"
                    .into(),
            ),
        });
    }
    Ok(())
}

/// Checks the patterns of `model.freeze`. Names of parameters do not depend on the sizes of vocabularies.
fn check_frozen(config: &Config) -> Result<()> {
    Frozen::of(config, &config.model.architecture(1, 1)).map(drop)
}

/// The configuration of the first process, which must run the same `program`.
fn config_of_first(program: &str, config: &Config, processes: &Processes) -> Result<Config> {
    let said = serde_json::to_vec(&(program, config)).unwrap_or_default();
    let said = processes.gather("the configuration was checked", &said);
    match serde_json::from_slice::<(String, Config)>(&said[0]) {
        Ok((first, config)) if first == program => Ok(config),
        _ => Err(Error::usage(
            format!("this is {program}, process 0 is another version"),
            "install the same version on all machines",
        )),
    }
}

/// Refuses processes whose matrix products differ in their bits.
pub(super) fn require_same_products(learner: &Learner, processes: &Processes) -> Result<()> {
    let products = learner.products();
    let hardware = current().hardware();
    let device = hardware.map_or("the CPU".into(), |hardware| hardware.name);
    processes.require_same("the device (`train.device`) or its driver", &device)?;
    // Products in f32 have the same bits on all machines.
    let products = match products.matmul {
        Precision::F32 => Precision::F32.to_string(),
        _ => products.to_string(),
    };
    processes
        .require_same("the precision of products (`train.precision`) or the CPU's instructions", &products)
}

#[cfg(test)]
mod tests {
    use attentive_processes::in_threads;

    use super::*;

    #[test]
    fn another_version_of_the_program_is_refused() {
        let results = in_threads(3, |processes| {
            let program = ["attentive 0.2.0", "attentive 0.2.0", "attentive 0.3.0"][processes.number()];
            let first = config_of_first(program, &Config::default(), &processes);
            let agreed = processes.agree("the configuration was checked", first.map(|_| ()));
            agreed.unwrap_err().to_string()
        });
        for problem in results {
            assert!(problem.starts_with("process 2 ("), "{problem}");
            let expected = "this is attentive 0.3.0, process 0 is another version";
            assert!(problem.ends_with(expected), "{problem}");
        }
    }
}
