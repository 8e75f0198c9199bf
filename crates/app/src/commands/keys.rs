//! The commands `keys create`, `list`, `revoke` and `roll`.

mod listing;

#[cfg(test)]
mod tests;

use std::time::Duration;

use clap::Subcommand;
use petstore_domain::{
    ApiKey, ApiKeySecret, Clock as _, CorruptKey, Corruption, KeyChangeError, KeyId, KeyName,
    KeyRights, KeySelector, KeyStore, NewApiKey, Timestamp, add_key, load_keys, revoke_keys,
    roll_key,
};

use self::listing::ListForm;
use crate::{
    cli::values,
    stores::{OpenMode, StoreArgs, with_store},
    system::{Console, Failure, Output, SystemClock, process, rfc3339},
};

/// The largest number of corrupt keys that a message names. The message counts the other corrupt keys.
const MAX_CORRUPT_NAMED: usize = 10;

/// Commands for API keys. A running service applies a change within one second.
#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a key and print it, once, on stdout
    Create {
        /// Name of the key: an ASCII letter, then up to 63 ASCII letters, digits, '.', '_' or '-'
        #[arg(value_name = "NAME", value_parser = KeyName::parse)]
        name: KeyName,
        /// Read-only key, which lists and fetches animals but adds none
        #[arg(long)]
        read_only: bool,
        /// Lifetime of the key, for example 90d [default: until it is revoked]
        #[arg(long, value_name = "DURATION", value_parser = values::lifetime)]
        expires: Option<Duration>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List all keys, also revoked and expired ones, without their secrets
    List {
        /// Format of the list
        #[arg(long, value_name = "FORM", default_value = "table")]
        output: ListForm,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Revoke a key
    Revoke {
        /// Identifier of a key, or the name of one or more keys
        #[arg(value_name = "ID|NAME", value_parser = selector)]
        target: KeySelector,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Replace a key: print a new key with the same name, and let the old key expire
    Roll {
        /// Name of the key
        #[arg(value_name = "NAME", value_parser = KeyName::parse)]
        name: KeyName,
        /// Time for which the old key stays valid
        #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = values::overlap)]
        overlap: Duration,
        /// Lifetime of the new key, for example 90d [default: the lifetime of the old key]
        #[arg(long, value_name = "DURATION", value_parser = values::lifetime)]
        expires: Option<Duration>,
        #[command(flatten)]
        store: StoreArgs,
    },
}

/// Parses a key selector: digits are an identifier, anything else is a name.
fn selector(text: &str) -> Result<KeySelector, String> {
    if values::is_number(text) {
        let id = text.parse().map_err(|_| format!("the largest identifier is {}", i64::MAX))?;
        return Ok(KeySelector::Id(KeyId(id)));
    }
    let name = KeyName::parse(text);
    name.map(KeySelector::Name)
        .map_err(|error| format!("neither an identifier nor a name: {error}"))
}

/// Runs the command. Only `create` creates a missing store.
pub(crate) async fn run(command: KeysCommand) -> Result<(), Failure> {
    process::survive_file_size_limit()?;
    let (store, mode) = match &command {
        KeysCommand::Create { store, .. } => (store, OpenMode::Create),
        KeysCommand::Revoke { store, .. } | KeysCommand::Roll { store, .. } => {
            (store, OpenMode::ReadWrite)
        }
        KeysCommand::List { store, .. } => (store, OpenMode::ReadOnly),
    };
    let location = store.store.location.clone();
    with_store(&*location, mode, async |store| {
        store.require_open(&*location).await?;
        let keys = Keys { store: &*store.keys, now: SystemClock.now(), out: &mut Console };
        match command {
            KeysCommand::Create { name, read_only, expires, .. } => {
                let rights = if read_only { KeyRights::ReadOnly } else { KeyRights::Full };
                keys.create(name, rights, expires).await
            }
            KeysCommand::List { output, .. } => keys.list(output).await,
            KeysCommand::Revoke { target, .. } => keys.revoke(target).await,
            KeysCommand::Roll { name, overlap, expires, .. } => {
                keys.roll(name, overlap, expires).await
            }
        }
    })
    .await
}

/// The keys of a store, and the output of a command.
struct Keys<'a, O> {
    store: &'a dyn KeyStore,
    now: Timestamp,
    out: &'a mut O,
}

impl<O: Output> Keys<'_, O> {
    async fn create(
        self,
        name: KeyName,
        rights: KeyRights,
        lifetime: Option<Duration>,
    ) -> Result<(), Failure> {
        let Self { store, now, out } = self;
        let secret = showable_secret(rights, out)?;
        let expires_at = lifetime.map(|lifetime| now.plus(lifetime));
        let key = NewApiKey::new(name.clone(), &secret, now, expires_at);
        let key = add_key(store, key).await.map_err(refused(&name))?;
        show(store, &key, &format!("{}\n", secret.expose()), out).await?;
        let reads = if rights == KeyRights::ReadOnly { " It may only read." } else { "" };
        out.note(&format!("The key '{name}' is shown this once. {}{reads}", validity(&key)));
        Ok(())
    }

    async fn list(self, form: ListForm) -> Result<(), Failure> {
        let Self { store, now, out } = self;
        let stored = load_keys(store).await.map_err(Failure::runtime)?;
        out.show(&listing::text(form, &stored, now))?;
        if stored.corrupt.is_empty() {
            return Ok(());
        }
        let named = names(&stored.corrupt);
        Err(Failure::runtime(format!("the service refuses corrupt keys: {named}")))
    }

    async fn revoke(self, selector: KeySelector) -> Result<(), Failure> {
        let named = match &selector {
            KeySelector::Id(KeyId(id)) => format!("the identifier {id}"),
            KeySelector::Name(name) => format!("the name '{name}'"),
        };
        let revoked =
            revoke_keys(self.store, selector, self.now).await.map_err(Failure::runtime)?;
        if revoked.is_empty() {
            return Err(Failure::runtime(format!(
                "no key with {named} is left to revoke; 'petstore keys list' shows all"
            )));
        }
        let lines = revoked.iter().map(|ApiKey { id: KeyId(id), name, prefix, .. }| {
            format!("revoked key {id} '{name}' ({prefix}…)\n")
        });
        self.out.print(lines.collect::<String>())
    }

    async fn roll(
        self,
        name: KeyName,
        overlap: Duration,
        lifetime: Option<Duration>,
    ) -> Result<(), Failure> {
        let Self { store, now, out } = self;
        let stored = load_keys(store).await.map_err(Failure::runtime)?;
        let secret = showable_secret(stored.rights_of(&name, now), out)?;
        let lifetime = lifetime.or_else(|| stored.lifetime_of(&name, now));
        let expires_at = lifetime.map(|lifetime| now.plus(lifetime));
        let key = NewApiKey::new(name.clone(), &secret, now, expires_at);
        let key = roll_key(store, key, now.plus(overlap)).await.map_err(refused(&name))?;
        let retired = if overlap.is_zero() {
            "is refused from now on".to_owned()
        } else {
            format!("is valid until {} at the latest", rfc3339(now.plus(overlap)))
        };
        let shown = show(store, &key, &format!("{}\n", secret.expose()), out).await;
        shown.map_err(|failure| Failure::runtime(format!("{failure}; the old one {retired}")))?;
        out.note(&format!(
            "The new key '{name}' is shown this once. {} The old one {retired}.",
            validity(&key)
        ));
        Ok(())
    }
}

/// Returns the validity of a new key, in sentences.
fn validity(key: &ApiKey) -> String {
    let until = key.expires_at.map_or("it is revoked".to_owned(), rfc3339);
    format!("A running service accepts it within a second. It is valid until {until}.")
}

/// Returns the names of corrupt keys and their broken rules: `API key 1 (a rule), API key 2 (a rule), and 3 more`.
pub(crate) fn names(corrupt: &[CorruptKey]) -> String {
    let named = corrupt.iter().take(MAX_CORRUPT_NAMED).map(|corrupt| {
        let Corruption { what, rule } = &corrupt.corruption;
        format!("{what} ({rule})")
    });
    let more = corrupt.len().saturating_sub(MAX_CORRUPT_NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

/// Converts the error of adding or rolling the key `name`.
fn refused(name: &KeyName) -> impl Fn(KeyChangeError) -> Failure {
    move |error| match error {
        KeyChangeError::NameTaken => Failure::runtime(format!(
            "a live key already has the name '{name}'; \
             take another, or replace it by 'petstore keys roll {name}'"
        )),
        KeyChangeError::NoSuchKey => Failure::runtime(format!(
            "no live key has the name '{name}'; 'petstore keys list' shows all"
        )),
        error @ (KeyChangeError::TooManyKeys(_)
        | KeyChangeError::TooManyOfOneName(_)
        | KeyChangeError::Store(_)) => Failure::runtime(error),
    }
}

/// Creates a secret. Fails if nobody can read stdout.
fn showable_secret(rights: KeyRights, out: &impl Output) -> Result<ApiKeySecret, Failure> {
    let lost = "no key was created, because stdout would lose it";
    out.has_reader().map_err(Failure::context(lost))?;
    Ok(ApiKeySecret::with_rights(&random()?, rights))
}

/// Returns `N` bytes of the system's random source.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let failed = Failure::context("the system's random source does not answer");
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Prints `text`, which contains the secret of a new key. Revokes the key if printing fails.
pub(crate) async fn show(
    store: &dyn KeyStore,
    key: &ApiKey,
    text: &str,
    out: &mut impl Output,
) -> Result<(), Failure> {
    let (Err(lost), KeyId(id)) = (out.print(text), key.id) else { return Ok(()) };
    let line = match revoke_keys(store, KeySelector::Id(key.id), SystemClock.now()).await {
        Ok(_) => format!("{lost}; the new key {id} was revoked, because nobody has seen it"),
        Err(error) => format!(
            "{lost}; nobody has seen the new key {id}, and it could not be revoked: {error}"
        ),
    };
    Err(Failure::runtime(line))
}
