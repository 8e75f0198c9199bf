//! Instructions of single steps: the difference between a run with many of them and a run with none.

use std::{env, path::Path};

use petstore_bench::callgrind;

/// The first argument of a run that somebody counts.
pub(crate) const ONE: &str = "one";
const TIMES: u32 = 1000;

/// For each step its instructions; `None` without valgrind.
pub(crate) fn of(names: &[&str], store: &Path) -> Option<Vec<f64>> {
    let valgrind = callgrind::find()?;
    let program = env::current_exe().unwrap();
    let counts = store.with_extension("counts");
    let total = |name: &str, times: u32| {
        let mut command = callgrind::command(&valgrind, &program, &counts);
        let status = command.args([ONE, name, &times.to_string()]).arg(store).status().unwrap();
        assert!(status.success(), "a step fails under callgrind: {name}");
        f64::from(u32::try_from(callgrind::total(&counts).unwrap()).unwrap())
    };
    let none = total(names.first()?, 0);
    Some(names.iter().map(|name| (total(name, TIMES) - none) / f64::from(TIMES)).collect())
}
