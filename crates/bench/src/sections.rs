//! Runs what was asked for, and hands out the results.

use crate::{
    bench::{self, Bench},
    cli::{Options, Sections},
    console::{note, say},
    failure::Outcome,
    ratios::{self, Sizes},
    report::Report,
    workload::{WORKLOADS, Workload},
};

/// Workloads of the short form.
const SHORT: [&str; 6] = ["list", "uncached", "get", "create", "unchanged", "unknown-key"];

pub(crate) fn run(sections: Sections, options: &Options) -> Outcome<()> {
    let bench = Bench::new(options)?;
    let machine = bench::machine();
    say(&machine);
    let publish = |report: Report| publish(&report, options, &machine);
    publish(ratios::run(&bench, &workloads(options), sizes(options))?)?;
    let _ = sections;
    note("done: every answer was right");
    Ok(())
}

fn workloads(options: &Options) -> Vec<&'static Workload> {
    let all: Vec<_> = WORKLOADS.iter().collect();
    let named = |names: &[&str]| names.iter().filter_map(|name| Workload::named(name)).collect();
    match &options.workloads[..] {
        [] if options.short => named(&SHORT),
        [] => all,
        names => named(&names.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

const fn sizes(options: &Options) -> Sizes {
    if options.short {
        Sizes { small: 10_000, large: 20_000 }
    } else {
        Sizes { small: 10_000, large: 200_000 }
    }
}

fn publish(report: &Report, options: &Options, machine: &str) -> Outcome<()> {
    report.print();
    options.json.as_deref().map_or(Ok(()), |file| report.append_to(file))?;
    options.write.as_deref().map_or(Ok(()), |file| report.write_into(file, machine))
}
