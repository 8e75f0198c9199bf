//! Two servers under the same load in turn, so that what disturbs the machine disturbs both.

use std::time::Instant;

use crate::{
    failure::Outcome,
    generator::{Generators, Push},
    load::Load,
    procfs,
    rounds::{Contest, Round},
    server::Server,
};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds for each of the two.
    pub(crate) rounds: usize,
    /// Seconds of a round.
    pub(crate) seconds: f64,
    /// Threads of the generator.
    pub(crate) threads: usize,
}

/// One of the two: a server and what it is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side<'a> {
    pub(crate) server: &'a Server,
    pub(crate) load: &'a Load,
    /// Whether the server answers everything with a page, also what the service refuses.
    constant: bool,
}

impl<'a> Side<'a> {
    /// A server that answers as the load expects.
    pub(crate) const fn new(server: &'a Server, load: &'a Load) -> Self {
        Self { server, load, constant: false }
    }

    /// A server that answers everything alike.
    pub(crate) const fn constant(server: &'a Server, load: &'a Load) -> Self {
        Self { server, load, constant: true }
    }
}

/// Alternates between the two: `baseline` is what `subject` is measured against.
pub(crate) fn alternate(
    generators: &Generators,
    [baseline, subject]: [Side<'_>; 2],
    connections: usize,
    effort: Effort,
) -> Outcome<Contest> {
    let mut contest = Contest::default();
    let sides = [baseline, subject];
    for number in 0..=effort.rounds {
        // The first round of each warms caches and pools up, and does not count.
        let seconds = if number == 0 { 1.0 } else { effort.seconds };
        let rounds = [&mut contest.baseline, &mut contest.subject];
        for (side, rounds) in sides.into_iter().zip(rounds) {
            let push = Push {
                address: side.server.address,
                connections,
                seconds,
                threads: effort.threads,
                seed: number * 7919,
            };
            let round = measure(generators, side, push)?;
            if number > 0 {
                rounds.rounds.push(round);
            }
        }
    }
    contest.baseline.memory = procfs::memory(baseline.server.pid())?;
    contest.subject.memory = procfs::memory(subject.server.pid())?;
    Ok(contest)
}

/// One round on one server.
pub(crate) fn measure(generators: &Generators, side: Side<'_>, push: Push) -> Outcome<Round> {
    let Side { server, load, constant } = side;
    let server_before = procfs::cpu(server.pid())?;
    let children_before = procfs::cpu_of_ended_children()?;
    let began = Instant::now();
    let tally = generators.run(load, push)?;
    let elapsed = began.elapsed().as_secs_f64();
    let generator = procfs::cpu_of_ended_children()?.saturating_sub(children_before).as_secs_f64();
    let server_cpu = procfs::cpu(server.pid())?.saturating_sub(server_before).as_secs_f64();
    load.verify(&tally, constant)?;
    let generator_bound = is_generator_bound(generator, server_cpu, elapsed, push);
    Ok(Round { tally, server_cpu, generator_bound })
}

/// Whether the generator's threads were busy for more than nine tenths of the round although the
/// machine had time left for the server.
fn is_generator_bound(generator: f64, server: f64, elapsed: f64, push: Push) -> bool {
    let threads = push.threads.min(push.connections) as f64;
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    generator > 0.9 * threads * elapsed && generator + server < 0.9 * cores * elapsed
}

#[cfg(test)]
mod tests {
    use super::is_generator_bound;
    use crate::generator::Push;

    #[test]
    fn a_generator_is_the_limit_only_while_the_machine_has_time_left() {
        let address = "127.0.0.1:1".parse().unwrap();
        let push = Push { address, connections: 1, seconds: 1.0, threads: 4, seed: 0 };
        assert!(is_generator_bound(0.95, 0.0, 1.0, push) || cores() == 1);
        assert!(!is_generator_bound(0.5, 0.0, 1.0, push));
        assert!(!is_generator_bound(0.95, cores() as f64, 1.0, push));
    }

    fn cores() -> usize {
        std::thread::available_parallelism().unwrap().into()
    }
}
