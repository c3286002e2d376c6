//! Models whose card says that they are not calibrated, or that have none.

use sngp_pipeline::Card;

use super::*;

/// The same model with another card, or none: the one a network of a benchmark has.
fn with_card(pipeline: &mut Pipeline, card: Option<&Card>) -> Pipeline {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("model");
    pipeline.save(&folder).unwrap();
    let model = sngp::model::load(&folder, &Options::default().device).unwrap();
    let mut model: Box<dyn sngp::model::AnyModel> = Box::new(model);
    match card {
        Some(card) => model.attach("card.json", serde_json::to_vec(card).unwrap()).unwrap(),
        None => model.detach("card.json"),
    }
    Pipeline::of_model(model).unwrap()
}

#[test]
fn a_model_that_has_to_be_calibrated_is_measured_without_a_threshold() {
    let mut pipeline = classifier();
    let card = Card { uncalibrated: true, ..pipeline.card().clone() };
    let changed = with_card(&mut pipeline, Some(&card));
    let (test, far) = (labelled(400..500), receding(40));
    let sets = Evaluation { ood: ood(&[("far", &far)]), ..Evaluation::on(&test) };
    let evidence = evaluate(&changed, &sets).unwrap();
    assert!(evidence.warnings[0].contains("until it is calibrated"), "{:?}", evidence.warnings);
    assert_eq!(evidence.threshold, None);
    // The guard stays: it was not chosen by the posterior that has changed.
    let found = evidence.at_threshold();
    assert!(found.test.answered > 90 && found.ood[0].rejected > 25, "{found:?}");
}

#[test]
fn a_model_without_a_card_is_measured_too() {
    let plain = with_card(&mut classifier(), None);
    assert_eq!(plain.card().label, "label");
    let (test, far) = (labelled(400..500), receding(40));
    let sets = Evaluation { ood: ood(&[("far", &far)]), ..Evaluation::on(&test) };
    let evidence = evaluate(&plain, &sets).unwrap();
    check(&evidence).unwrap();
    assert_eq!(evidence.at_threshold().ood[0].rejected, rejected(&plain, &far));
    assert!(html(&evidence).contains("Whatever the threshold"));
}
