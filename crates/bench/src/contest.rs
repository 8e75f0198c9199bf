//! Runs two servers in turns under the same load, so that a disturbance of the machine affects both.

use anyhow::Result;

use crate::{
    generator::Target,
    number::median,
    round::{Round, Side},
    setup::Effort,
};

/// The rounds of two servers. Rounds with the same index ran one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contest {
    pub(crate) baseline: Vec<Round>,
    pub(crate) subject: Vec<Round>,
}

impl Contest {
    /// Alternates between `baseline` and `subject`.
    pub(crate) fn run(
        [baseline, subject]: [Side<'_>; 2],
        connections: usize,
        effort: Effort,
    ) -> Result<Self> {
        let mut contest = Self::default();
        // The first round of each server warms it up, and does not count.
        for number in 0..=effort.rounds {
            let measure = |side: Side<'_>| {
                let target = Target::new(side.server, connections, effort);
                let seconds = if number == 0 { 1 } else { effort.seconds };
                side.measure(Target { seconds, start: number * 7919, ..target })
            };
            let (first, second) = (measure(baseline)?, measure(subject)?);
            if number > 0 {
                contest.baseline.push(first);
                contest.subject.push(second);
            }
        }
        Ok(contest)
    }

    /// Returns the median ratio of the subject's rate to the baseline's.
    pub(crate) fn ratio(&self) -> f64 {
        median(self.ratios(Round::per_second))
    }

    /// Returns the smallest and the greatest ratio of rates among the rounds.
    pub(crate) fn range(&self) -> [f64; 2] {
        let ratios = || self.ratios(Round::per_second);
        [ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max)]
    }

    /// Returns the median ratio of the requests per second of processor time. Other processes hardly affect this ratio.
    pub(crate) fn cpu_ratio(&self) -> f64 {
        median(self.ratios(|round| 1.0 / round.cpu_per_request()))
    }

    fn ratios(&self, figure: impl Fn(&Round) -> f64) -> impl Iterator<Item = f64> {
        let pairs = self.baseline.iter().zip(&self.subject);
        pairs.map(move |(baseline, subject)| figure(subject) / figure(baseline))
    }
}

#[cfg(test)]
mod tests {
    use super::Contest;
    use crate::{generator::Tally, round::Round};

    fn rounds(requests: &[u64]) -> Vec<Round> {
        let round = |requests: &u64| Round {
            tally: Tally { requests: *requests, seconds: 1.0, ..Tally::default() },
            cpu: 0.5,
        };
        requests.iter().map(round).collect()
    }

    #[test]
    fn a_disturbance_of_both_servers_does_not_change_the_ratio() {
        let quiet = Contest { baseline: rounds(&[100, 100, 100]), subject: rounds(&[50, 50, 50]) };
        let noisy = Contest { baseline: rounds(&[100, 20, 60]), subject: rounds(&[50, 10, 30]) };
        assert!((quiet.ratio() - 0.5).abs() < 1e-9 && (noisy.ratio() - 0.5).abs() < 1e-9);
        let uneven = Contest { baseline: rounds(&[100, 100, 100]), subject: rounds(&[40, 90, 50]) };
        assert!((uneven.range()[0] - 0.4).abs() < 1e-9 && (uneven.range()[1] - 0.9).abs() < 1e-9);
        assert!((uneven.cpu_ratio() - 0.5).abs() < 1e-9);
    }
}
