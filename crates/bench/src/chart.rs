//! Charts as SVG.

use std::{fs, path::Path};

use petstore_bench::table::whole;
use plotters::prelude::*;

use crate::failure::{Context as _, Failure, Outcome};

const SIZE: (u32, u32) = (900, 500);

/// One line of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Both numbers above 0: the axes are logarithmic.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Draws lines over two logarithmic axes into a file.
pub(crate) fn draw(file: &Path, title: &str, axes: [&str; 2], lines: &[Line]) -> Outcome<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).cannot(format_args!("make {}", folder.display()))?;
    }
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    plot(&area, title, axes, lines).cannot(format_args!("draw {}", file.display()))
}

fn plot(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    [x_name, y_name]: [&str; 2],
    lines: &[Line],
) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
    area.fill(&WHITE).map_err(|error| failed(&error))?;
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let [x, y] = [range(points().map(|point| point.0)), range(points().map(|point| point.1))];
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d((x.0..x.1).log_scale(), (y.0..y.1).log_scale())
        .map_err(|error| failed(&error))?;
    chart
        .configure_mesh()
        .x_desc(x_name)
        .y_desc(y_name)
        .x_label_formatter(&|x| whole(*x))
        .y_label_formatter(&|y| whole(*y))
        .light_line_style(WHITE)
        .draw()
        .map_err(|error| failed(&error))?;
    for (number, line) in lines.iter().enumerate() {
        let color = Palette99::pick(number).to_rgba();
        let dots = line.points.iter().map(|point| Circle::new(*point, 3, color.filled()));
        chart.draw_series(dots).map_err(|error| failed(&error))?;
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), color.stroke_width(2)))
            .map_err(|error| failed(&error))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(|error| failed(&error))?;
    area.present().map_err(|error| failed(&error))
}

/// From a little below the smallest to well above the largest: the legend stands there.
fn range(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = numbers.fold((f64::INFINITY, 1.0_f64), |(least, most), number| {
        (least.min(number), most.max(number))
    });
    ((least * 0.8).clamp(0.1, most), most * 3.0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Line, draw};

    #[test]
    fn a_chart_shows_its_lines_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("images/a.svg");
        let points = vec![(1.0, 500.0), (64.0, 9000.0), (256.0, 8000.0)];
        draw(&file, "A title", ["x", "y"], &[Line { name: "a line".into(), points }]).unwrap();
        let svg = fs::read_to_string(&file).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("A title") && svg.contains("a line"));
        assert_eq!(svg.matches("<circle").count(), 3);
    }
}
