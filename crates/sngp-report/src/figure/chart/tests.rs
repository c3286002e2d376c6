use super::*;
use crate::figure::FigureError;
use crate::figure::render;

fn axis() -> Axis {
    Axis { label: "share & <more>".into(), range: [0.0, 1.0], scale: Scale::Percent }
}

fn chart(shape: Shape) -> Chart {
    let series = Series { label: "a <b>".into(), tone: Tone::Blue, shape };
    let mark = Mark { label: "here".into(), at: Position::Point([0.5, 2.0]) };
    Chart {
        id: "test".into(),
        x: axis(),
        y: axis(),
        series: vec![series],
        mark: Some(mark),
        counts: vec![],
    }
}

#[test]
fn every_shape_makes_a_well_formed_document() {
    let points = vec![[0.0, 0.1], [0.5, 0.7], [1.0, 0.2]];
    let shapes = [
        Shape::Line(points.clone()),
        Shape::Dashed(points.clone()),
        Shape::Area(points.clone()),
        Shape::Dots(points),
        Shape::Spans(vec![[0.5, 0.1, 0.9]]),
        Shape::Line(Vec::new()),
        Shape::Area(Vec::new()),
    ];
    for shape in shapes {
        let mut chart = chart(shape);
        chart.counts = vec![(0.1, 3), (0.9, 40_000)];
        let svg = chart.svg().unwrap();
        assert!(svg.contains("a &lt;b&gt;") && svg.contains("40k"), "{svg}");
        let size = render::parse(&svg).unwrap().size();
        assert_eq!([size.width(), size.height()].map(f64::from), Chart::SIZE);
    }
}

#[test]
fn the_body_has_neither_root_nor_paper() {
    let body = chart(Shape::Line(vec![[0.0, 0.0]])).body().unwrap();
    assert!(body.starts_with("<g class=\"grid\""), "{body}");
    assert!(!body.contains("svg") && !body.contains("http"));
}

#[test]
fn a_mark_beyond_the_axes_sits_on_their_end_and_tells_how_to_move_it() {
    let body = chart(Shape::Line(Vec::new())).body().unwrap();
    assert!(body.contains(r#"data-x="0 1" data-y="0 1" data-log="0""#), "{body}");
    let area = Layout::of(&chart(Shape::Line(Vec::new()))).area;
    assert!(body.contains(&format!(r#"cy="{}""#, area.y)), "{body}");
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let refused = |chart: Chart| matches!(chart.svg(), Err(FigureError::Panel { .. }));
    assert!(refused(chart(Shape::Line(vec![[0.0, f64::NAN]]))));
    assert!(refused(chart(Shape::Spans(vec![[0.0, 0.0, f64::INFINITY]]))));
    let good = chart(Shape::Line(Vec::new()));
    let with_x = |range, scale| Chart { x: Axis { range, scale, ..axis() }, ..good.clone() };
    assert!(refused(with_x([1.0, 1.0], Scale::Linear)));
    assert!(refused(with_x([0.0, 1.0], Scale::Log)));
    assert!(refused(Chart { counts: vec![(f64::NAN, 1)], ..good.clone() }));
    assert!(good.svg().is_ok());
}
