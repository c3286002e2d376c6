//! The table beside the paper's.

use sngp::method::Method;

use super::run::PLOTS;
use super::{ImageData, NetworkConfig, PretrainedConfig, ShiftConfig, Trained, VisionExperiment};
use crate::bench::tables::{
    Column, beside_the_paper, by_every_score, ending, failures_by_every_score,
};
use crate::bench::{MISTAKES, single_method};
use crate::published;
use crate::report::Report;

/// A benchmark's page: our figures beside the paper's, the plots, then every score.
pub fn document(name: &str, experiment: &VisionExperiment, report: &Report) -> String {
    let data = experiment.data.source.name();
    let mut text = format!("# Images: {name}\n\n");
    text += &about(experiment, report);
    text.push_str(
        "Mean over seeds, ± standard error where there is more than one. `test`: clean test \
         images. `corrupted`: the mean over corruptions and severities, each measured by itself. \
         OOD images are detected among test images by the score in bold below; AUPR counts them \
         as positive and depends on how many there are. Latency is the median of one image at a \
         time. The plots are of first seeds, the scores' of the first OOD set. The paper's \
         figures (WRN-28-10, ten seeds, all of CIFAR-C and SVHN, its own hardware) are on the \
         right.\n\n",
    );
    let mut columns: Vec<Column<'_>> = vec![
        ("test", "accuracy", "accuracy"),
        ("corrupted", "accuracy", "corrupted accuracy"),
        ("test", "ece", "ECE"),
        ("corrupted", "ece", "corrupted ECE"),
        ("test", "nll", "NLL"),
        ("corrupted", "nll", "corrupted NLL"),
        ("test", "brier", "Brier"),
    ];
    let ood: Vec<&str> = experiment.ood.iter().map(|set| set.source.name()).collect();
    let headings: Vec<[String; 2]> =
        ood.iter().map(|name| ["AUPR", "AUROC"].map(|what| format!("{name} {what}"))).collect();
    for (name, [aupr, auroc]) in ood.iter().zip(&headings) {
        columns.extend([(*name, "aupr", aupr.as_str()), (*name, "auroc", auroc.as_str())]);
    }
    columns.push(("one image", "latency_ms", "latency, ms"));
    let paper = published::images(data);
    let of_ood: Vec<[String; 2]> =
        ood.iter().map(|name| [format!("aupr_{name}"), format!("{name} AUPR")]).collect();
    let theirs: Vec<(&str, &str)> = [
        ("acc", "accuracy"),
        ("c_acc", "corrupted accuracy"),
        ("ece", "ECE"),
        ("c_ece", "corrupted ECE"),
        ("nll", "NLL"),
        ("c_nll", "corrupted NLL"),
    ]
    .into_iter()
    .chain(of_ood.iter().map(|[key, heading]| (key.as_str(), heading.as_str())))
    .chain([("latency_ms", "latency, ms")])
    .collect();
    text += &beside_the_paper(report, &columns, &paper, &theirs);
    for (_, file) in PLOTS {
        text += &format!("![{file}]({name}-{file}.png)\n\n");
    }
    for name in ood {
        text += &by_every_score(report, name, name);
        text += &failures_by_every_score(report, name);
    }
    text += &by_every_score(report, MISTAKES, "mistakes among the test images");
    text += &ending(report);
    text
}

/// What was trained and measured, in a sentence.
fn about(experiment: &VisionExperiment, report: &Report) -> String {
    let network = match &experiment.network {
        NetworkConfig::WideResnet(network) => format!("WRN-{}-{}", network.depth, network.widen),
        NetworkConfig::Resnet(network) => format!("ResNet-{}", network.depth),
        NetworkConfig::WhitenedResnet(network) => {
            let [first, second, third] = network.widths;
            format!("whitened residual network {first}-{second}-{third}")
        }
    };
    let epochs = epochs(experiment, report);
    let trained = match &experiment.pretrained {
        Some(PretrainedConfig { train: Trained::Output, .. }) => {
            "with published weights that are not trained further".to_string()
        }
        Some(_) => format!("from published weights, {epochs}"),
        None => format!("{epochs} in batches of {}", experiment.model.training.batch_size),
    };
    let ImageData { train, validation, corrupted_validation, .. } = &experiment.data;
    let held_out = match corrupted_validation {
        0 => format!("{validation} training images held out"),
        some => format!(
            "{validation} training images held out, {some} of them also corrupted in the four ways \
             that CIFAR-10-C keeps for validation"
        ),
    };
    let images = train.map_or_else(|| "all others".to_string(), |rows| rows.to_string());
    let shift = match &experiment.shift {
        Some(ShiftConfig::Own { rows }) => format!(
            "corrupted by our own versions of CIFAR-10-C's corruptions but frost, {rows} images \
             of each corruption and severity"
        ),
        Some(ShiftConfig::CifarC { path }) => format!("corrupted ones from {}", path.display()),
        None => "no corrupted ones".to_string(),
    };
    format!(
        "{network} on {}, {trained}; {held_out}; {images} trained on; {shift}.\n\n",
        experiment.data.source.name()
    )
}

/// How long the networks were trained, with the methods that differ.
fn epochs(experiment: &VisionExperiment, report: &Report) -> String {
    let usual = experiment.model.training.epochs;
    let differing = |name: &&str| {
        // Methods that share networks have the epochs of the one that trains them.
        let single = single_method(&name.parse::<Method>().ok()?.recipe()).ok()?;
        let own = experiment.model_for(&single).ok()?.training.epochs;
        (own != usual).then(|| format!("{name} {own}"))
    };
    let others: Vec<String> = report.methods().iter().filter_map(differing).collect();
    match others.as_slice() {
        [] => format!("{usual} epochs"),
        others => format!("{usual} epochs ({})", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Measurements;
    use crate::vision::BUILT_IN;

    #[test]
    fn methods_with_epochs_of_their_own_are_named_where_they_are_listed() {
        let said = |experiment: &str, methods: &[&str]| {
            let (_, text) = BUILT_IN.iter().find(|(name, _)| *name == experiment).unwrap();
            let mut experiment = VisionExperiment::parse(text).unwrap();
            experiment.model.training.epochs = 7;
            let mut measurements = Measurements::default();
            for method in methods {
                measurements.add("quick", method, "test", "accuracy", 0.5);
            }
            let rows = measurements.rows().unwrap();
            epochs(&experiment, &Report { rows, ..Report::default() })
        };
        assert_eq!(said("cifar10-quick", &["sngp", "duq"]), "7 epochs (duq 3)");
        assert_eq!(said("cifar10-quick", &["sngp"]), "7 epochs");
        // MC dropout has the deterministic networks.
        assert_eq!(said("cifar10-paper", &["sngp", "mc_dropout"]), "7 epochs (mc_dropout 200)");
    }
}
