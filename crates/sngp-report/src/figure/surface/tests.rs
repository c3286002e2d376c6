use super::*;
use crate::escape;
use crate::figure::FigureError;
use crate::figure::render::{self, tests::decode};

fn panel(title: &str) -> Surface {
    let grid = Grid { x: [-2.0, 2.0], y: [-1.0, 1.0], columns: 12, rows: 9 };
    let values = grid.points().iter().map(|[x, y]| ((x * x + y * y) / 3.0).min(1.0)).collect();
    Surface {
        title: title.into(),
        grid,
        values,
        classes: vec![Points(vec![[-0.5, 0.1]]), Points(vec![[0.5, -0.1]])],
        ood: Points(vec![[1.8, 0.8], [99.0, 0.0]]),
    }
}

fn figure(rows: &[(&str, &[&str])]) -> SurfaceFigure {
    let row = |(label, titles): &(&str, &[&str])| SurfaceRow {
        label: (*label).into(),
        panels: titles.iter().map(|title| panel(title)).collect(),
    };
    SurfaceFigure { rows: rows.iter().map(row).collect(), ..SurfaceFigure::default() }
}

/// Half size keeps unoptimised test runs short.
fn pixels(figure: &SurfaceFigure) -> (u32, u32, Vec<u8>) {
    decode(&render::png(&figure.svg().unwrap(), 0.5).unwrap())
}

fn complaint(change: impl FnOnce(&mut SurfaceFigure)) -> String {
    let mut figure = figure(&[("moons", &["dnn", "sngp"])]);
    change(&mut figure);
    figure.svg().unwrap_err().to_string()
}

#[test]
fn svg_is_well_formed_and_holds_every_text_escaped() {
    let mut figure = figure(&[("<moons>", &["dnn & co", "sngp"]), ("ovals", &["a\"b", "\u{1b}"])]);
    figure.title = Some("x < y".into());
    figure.colour_bar_label = "1 - max p & more".into();
    let svg = figure.svg().unwrap();
    render::parse(&svg).unwrap();
    for text in ["<moons>", "dnn & co", "sngp", "ovals", "a\"b", "\u{1b}", "x < y"] {
        assert!(svg.contains(&format!(">{}</text>", escape::markup(text))), "{text:?}");
    }
    for text in ["class 0", "class 1", "out-of-distribution", "1 - max p &amp; more", "0.2", "1.0"]
    {
        assert!(svg.contains(&format!(">{text}</text>")), "{text:?}");
    }
}

#[test]
fn titles_are_repeated_only_where_they_change() {
    let titles_below = |first: &[&str], second: &[&str]| {
        let layout = layout::Layout::of(&figure(&[("a", first), ("b", second)]));
        assert_eq!(layout.rows[0].titles.len(), first.len());
        layout.rows[1].titles.len()
    };
    assert_eq!(titles_below(&["dnn", "sngp"], &["dnn", "sngp"]), 0);
    assert_eq!(titles_below(&["dnn", "sngp"], &["dnn"]), 0);
    assert_eq!(titles_below(&["dnn"], &["dnn", "sngp"]), 2);
    assert_eq!(titles_below(&["dnn", "sngp"], &["gp", "sngp"]), 2);
}

#[test]
fn png_has_the_size_of_the_page_times_scale_and_is_not_uniform() {
    let svg = figure(&[("moons", &["dnn", "sngp"])]).svg().unwrap();
    let page = render::parse(&svg).unwrap().size();
    let (width, height, pixels) = decode(&render::png(&svg, 0.5).unwrap());
    assert_eq!(width, (page.width() * 0.5).round() as u32);
    assert_eq!(height, (page.height() * 0.5).round() as u32);
    let yellow = pixels.chunks(3).filter(|p| p[0] > 200 && p[2] < 80).count();
    let violet = pixels.chunks(3).filter(|p| p[0] < 90 && p[1] < 60 && p[2] > 60).count();
    assert!(yellow > 500 && violet > 500, "{yellow} yellow and {violet} violet pixels");
}

#[test]
fn titles_are_really_drawn() {
    let (with, without) = (figure(&[("", &["a", "sngp"])]), figure(&[("", &["a", ""])]));
    let ((width, height, with), (w, h, without)) = (pixels(&with), pixels(&without));
    assert_eq!((width, height), (w, h), "the neighbour's title keeps the place");
    let changed = with.chunks(3).zip(without.chunks(3)).filter(|(a, b)| a != b).count();
    assert!(changed > 50, "{changed} pixels changed");
}

#[test]
fn surfaces_and_points_are_really_drawn() {
    let full = figure(&[("", &["a"])]);
    let mut flat = full.clone();
    flat.rows[0].panels[0].values.fill(0.0);
    let mut bare = full.clone();
    bare.rows[0].panels[0].ood.0.remove(0);
    let full = pixels(&full).2;
    let changed =
        |other| full.chunks(3).zip(pixels(other).2.chunks(3)).filter(|(a, b)| a != b).count();
    assert!(changed(&flat) > 10_000);
    assert!((4..100).contains(&changed(&bare)));
}

#[test]
fn many_columns_with_long_titles_stay_apart() {
    let titles = ["incomprehensibility", "sngp_ensemble_of_many", "dnn"].repeat(4);
    let figure = figure(&[("moons", &titles), ("ovals", &titles[..2])]);
    let layout = layout::Layout::of(&figure);
    for title in &layout.rows[0].titles {
        for line in &title.block.lines {
            assert!(crate::figure::text::width(line, title.block.size) <= layout.panel + 0.5);
        }
    }
    let last = layout.rows[0].panels.last().unwrap();
    assert!(last[0] + layout.panel < layout.bar.rect.x && layout.bar.rect.x < layout.width);
}

#[test]
fn data_that_cannot_be_drawn_name_their_panel() {
    let in_second = |change: fn(&mut Surface)| complaint(|f| change(&mut f.rows[0].panels[1]));
    for message in [
        in_second(|panel| panel.values[13] = f64::NAN),
        in_second(|panel| panel.values[13] = f64::INFINITY),
        in_second(|panel| panel.values.truncate(107)),
        in_second(|panel| panel.grid.columns = 1),
        in_second(|panel| panel.grid.columns = usize::MAX),
        in_second(|panel| panel.grid.x = [1.0, 1.0]),
        in_second(|panel| panel.classes[0].0.push([f64::NAN, 0.0])),
        in_second(|panel| panel.ood.0.push([0.0, f64::INFINITY])),
    ] {
        assert!(message.starts_with("panel `moons / sngp`: "), "{message}");
    }
    let message = in_second(|panel| panel.values[13] = f64::NAN);
    assert!(message.ends_with("the value in column 1, row 1 is NaN"), "{message}");
}

#[test]
fn empty_figures_and_empty_ranges_are_errors() {
    assert!(matches!(SurfaceFigure::default().svg(), Err(FigureError::Empty { .. })));
    assert!(complaint(|figure| figure.rows[0].panels.clear()).starts_with("row `moons`"));
    assert!(complaint(|figure| figure.range = [1.0, 1.0]).contains("1..1"));
    assert!(complaint(|figure| figure.range[0] = f64::NAN).contains("NaN"));
}

#[test]
fn save_writes_both_files_and_nothing_else() {
    let folder = std::env::temp_dir().join(format!("sngp-figure-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let figure = figure(&[("moons", &["sngp"])]);
    figure.save(&folder.join("moons.v1")).unwrap();
    let mut names: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let svg = std::fs::read_to_string(folder.join("moons.v1.svg")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(names, ["moons.v1.png", "moons.v1.svg"]);
    assert_eq!(svg, figure.svg().unwrap());

    let message = figure.save(&folder.join("gone")).unwrap_err().to_string();
    assert!(message.contains("gone.svg"), "{message}");
}
