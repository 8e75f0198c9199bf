//! The commands `completions` and `man`: what packages install beside the binary.

use crate::{
    cli::{CompletionsArgs, ManArgs},
    console::{Console, Output as _, stdout_failed},
    failure::Failure,
};

/// The name of the program, whatever its file is called.
const NAME: &str = "petstore";

/// Prints the completions of a shell.
pub(crate) fn completions(
    definition: &clap::Command,
    args: CompletionsArgs,
) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut definition.clone(), NAME, &mut script);
    let script = String::from_utf8(script).map_err(Failure::runtime)?;
    Console.answer(&script).map_err(|error| stdout_failed(&error))
}

/// Writes the manual pages into a folder that exists.
pub(crate) fn pages(definition: &clap::Command, args: &ManArgs) -> Result<(), Failure> {
    let failed = |error| {
        Failure::runtime(format!("cannot write manual pages into {}: {error}", args.to.display()))
    };
    clap_mangen::generate_to(definition.clone(), &args.to).map_err(failed)
}
