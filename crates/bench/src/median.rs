//! The middle of measurements.

/// The median; 0 of nothing.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    match numbers.len() {
        0 => 0.0,
        length if length % 2 == 1 => numbers[half],
        _ => f64::midpoint(numbers[half - 1], numbers[half]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn an_outlier_does_not_move_the_median() {
        let table: [(&[f64], f64); 4] =
            [(&[], 0.0), (&[3.0], 3.0), (&[1.0, 900.0, 2.0], 2.0), (&[4.0, 1.0, 2.0, 3.0], 2.5)];
        for (numbers, expected) in table {
            assert!((median(numbers.to_vec()) - expected).abs() < 1e-9, "{numbers:?}");
        }
    }
}
