//! Formats numbers, and computes medians.

/// Formats a whole number with commas: `1,234,567`.
pub(crate) fn whole(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the median, or the upper median of an even number of values; 0 without values.
pub(crate) fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::{median, whole};

    #[test]
    fn commas_separate_thousands() {
        let written = [0.4, 999.0, 1000.0, 1_234_567.0].map(whole);
        assert_eq!(written, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn an_outlier_does_not_move_the_median() {
        assert!((median([1.0, 900.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!(median([]).abs() < 1e-9);
    }
}
