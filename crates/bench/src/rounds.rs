//! What was measured, and the figures that are made from it.

use crate::{generator::Tally, median::median, procfs::Memory};

/// What was measured in one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) tally: Tally,
    /// Processor time of the server, in seconds.
    pub(crate) server_cpu: f64,
    /// Whether the generator had no time left while the machine had.
    pub(crate) generator_bound: bool,
}

/// What was measured of one side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) rounds: Vec<Round>,
    pub(crate) memory: Memory,
}

/// The same load on both sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contest {
    pub(crate) baseline: Rounds,
    pub(crate) subject: Rounds,
}

impl Round {
    pub(crate) fn per_second(&self) -> f64 {
        self.tally.requests as f64 / self.tally.seconds
    }
}

impl Rounds {
    pub(crate) fn median(&self, of: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(of).collect())
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.median(Round::per_second)
    }

    /// Processor time of the server for a request, in microseconds.
    pub(crate) fn cpu_per_request(&self) -> f64 {
        self.median(|round| round.server_cpu * 1e6 / round.tally.requests as f64)
    }

    pub(crate) fn generator_bound(&self) -> bool {
        self.rounds.iter().any(|round| round.generator_bound)
    }
}

impl Contest {
    /// How much faster the subject is than the baseline: the median of the rounds' ratios, each of
    /// two rounds that were neighbours in time.
    pub(crate) fn ratio(&self) -> f64 {
        median(self.ratios(Round::per_second))
    }

    /// The least and the greatest of the rounds' ratios.
    pub(crate) fn range(&self) -> (f64, f64) {
        let mut ratios = self.ratios(Round::per_second);
        ratios.sort_by(f64::total_cmp);
        (ratios.first().copied().unwrap_or(0.0), ratios.last().copied().unwrap_or(0.0))
    }

    /// The same for requests per second of processor time, which others on the machine hardly
    /// change.
    pub(crate) fn cpu_ratio(&self) -> f64 {
        let per_cpu = |round: &Round| round.tally.requests as f64 / round.server_cpu.max(0.01);
        median(self.ratios(per_cpu))
    }

    fn ratios(&self, of: impl Fn(&Round) -> f64) -> Vec<f64> {
        ratios(&self.baseline, &self.subject, of)
    }
}

/// How many times as fast as the slowest the fastest of some sides is, which took turns: the
/// greatest ratio of any two.
pub(crate) fn most_to_least(sides: &[&Rounds]) -> f64 {
    let against = |baseline: &Rounds| {
        let ratio = |subject: &&Rounds| median(ratios(baseline, subject, Round::per_second));
        sides.iter().map(ratio).fold(1.0, f64::max)
    };
    sides.iter().map(|baseline| against(baseline)).fold(1.0, f64::max)
}

/// The subject's figures as parts of the baseline's, each of two rounds that were neighbours in
/// time.
fn ratios(baseline: &Rounds, subject: &Rounds, of: impl Fn(&Round) -> f64) -> Vec<f64> {
    let pairs = baseline.rounds.iter().zip(&subject.rounds);
    pairs.map(|(baseline, subject)| of(subject) / of(baseline)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Contest, Round, Rounds, most_to_least};
    use crate::generator::Tally;

    fn rounds(requests: &[u64]) -> Rounds {
        let round = |requests: &u64| Round {
            tally: Tally { requests: *requests, seconds: 1.0, ..Tally::default() },
            server_cpu: 0.5,
            generator_bound: false,
        };
        Rounds { rounds: requests.iter().map(round).collect(), ..Rounds::default() }
    }

    #[test]
    fn a_disturbance_of_both_does_not_change_the_ratio() {
        let calm = Contest { baseline: rounds(&[100, 100, 100]), subject: rounds(&[50, 50, 50]) };
        let noisy = Contest { baseline: rounds(&[100, 20, 60]), subject: rounds(&[50, 10, 30]) };
        assert!((calm.ratio() - 0.5).abs() < 1e-9 && (noisy.ratio() - 0.5).abs() < 1e-9);
        let uneven = Contest { baseline: rounds(&[100, 100, 100]), subject: rounds(&[40, 90, 50]) };
        assert_eq!(uneven.range(), (0.4, 0.9));
        assert!((uneven.cpu_ratio() - 0.5).abs() < 1e-9);
        assert!((rounds(&[10, 20, 90]).per_second() - 20.0).abs() < 1e-9);
        assert!((rounds(&[500_000]).cpu_per_request() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_disturbance_of_all_does_not_set_them_apart() {
        let [first, second] = [rounds(&[100, 20, 60]), rounds(&[50, 10, 30])];
        let third = rounds(&[80, 16, 48]);
        assert!((most_to_least(&[&first, &second, &third]) - 2.0).abs() < 1e-9);
        assert!((most_to_least(&[&second, &third, &first]) - 2.0).abs() < 1e-9);
        assert!((most_to_least(&[&third, &second]) - 1.6).abs() < 1e-9);
        assert!((most_to_least(&[&first]) - 1.0).abs() < 1e-9);
    }
}
