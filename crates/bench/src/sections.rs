//! Runs what was asked for, and hands out the results.

use crate::{
    bench::{self, Bench},
    cli::{Options, Sections},
    console::{note, say},
    failure::Outcome,
    growth::{self, Catalogue},
    idle, instructions,
    postgres::{self, Yardstick},
    ratios::{self, Sizes},
    report::Report,
    slow_disk,
    workload::{WORKLOADS, Workload},
};

/// Workloads of the short form.
const SHORT: [&str; 6] = ["list", "uncached", "get", "create", "unchanged", "unknown-key"];

pub(crate) fn run(sections: &Sections, options: &Options) -> Outcome<()> {
    let bench = Bench::new(options)?;
    let machine = bench::machine();
    say(&machine);
    let publish = |report: Report| publish(&report, options, &machine);
    let charts = options.chart.as_deref();
    let given = sections.any();
    if sections.ratios || sections.all || !given {
        let report = ratios::run(&bench, &workloads(options), sizes(options))?;
        charts.map_or(Ok(()), |folder| ratios::draw(&report, folder))?;
        publish(report)?;
    }
    if sections.postgres.is_some() || sections.all || (!given && options.wants_everything()) {
        run_postgres(&bench, sections.postgres.as_deref(), options)
            .and_then(|report| report.map_or(Ok(()), publish))?;
    }
    if sections.slow_disk || sections.all {
        publish(slow_disk::run(&bench)?)?;
    }
    if sections.growth || sections.all {
        let sizes = options.growth_sizes.iter();
        let catalogues = sizes.map(|animals| Catalogue::make(&bench, *animals));
        let catalogues = catalogues.collect::<Outcome<Vec<_>>>()?;
        for setting in &growth::SETTINGS {
            publish(growth::run(&bench, &catalogues, setting, charts)?)?;
        }
    }
    if let Some(connections) = sections.idle.or(sections.all.then_some(10_000)) {
        publish(idle::run(&bench, connections)?)?;
    }
    if sections.instructions || sections.all {
        let (report, verdict) = instructions::run(&bench, options.accept)?;
        publish(report)?;
        verdict?;
    }
    note("done: every answer was right");
    Ok(())
}

/// Where PostgreSQL was not asked for and cannot be had, it is left out loudly.
fn run_postgres(bench: &Bench, url: Option<&str>, options: &Options) -> Outcome<Option<Report>> {
    let yardstick = match Yardstick::prepare(url.unwrap_or_default()) {
        Err(obstacle) if url.is_none() => {
            note(format_args!("*** SKIPPED: PostgreSQL: {obstacle} ***"));
            return Ok(None);
        }
        yardstick => yardstick?,
    };
    let animals = if options.short { 10_000 } else { 100_000 };
    postgres::run(bench, &yardstick, animals).map(Some)
}

fn workloads(options: &Options) -> Vec<&'static Workload> {
    let all: Vec<_> = WORKLOADS.iter().collect();
    let of = |names: &[&str]| names.iter().filter_map(|name| Workload::named(name)).collect();
    match &options.workloads[..] {
        [] if options.short => of(&SHORT),
        [] => all,
        names => of(&names.iter().map(String::as_str).collect::<Vec<_>>()),
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
    options
        .write
        .as_deref()
        .map_or(Ok(()), |file| report.write_into(file, options.chart.as_deref(), machine))
}
