//! The kinds of rows, and the first difference between two stores in words.

use std::fmt;

use petstore_domain::{
    ApiKey, IdempotencyRecord, KeyId, Pet, PetId, PetStatus, RecordPosition, Snapshot, StoreError,
    Timestamp,
};

/// The largest number of rows in one read: 10 MiB with the longest names.
pub(crate) const BATCH: u32 = 10_000;

/// The rows that the target is expected to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// The rows of the source. The last use of a key may differ: each service notes it in its own store.
    Equal,
    /// An earlier copy of the source: its first animals, and some of its keys and records. The source may have replaced
    /// records of the copy since.
    Part,
    /// The rows of the source and further rows: the source is a `Part` of the target.
    Whole,
}

/// The first row in which two stores differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name of the row, for example `animal 7`, or of a highest identifier.
    pub what: String,
    /// The row of the source in words; `None` if the source lacks it.
    pub source: Option<String>,
    /// The row of the target in words; `None` if the target lacks it.
    pub target: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, source, target } = self;
        let [source, target] = [source, target].map(|row| row.as_deref().unwrap_or("missing"));
        write!(f, "{what} differs (source: {source}; target: {target})")
    }
}

/// A kind of row. A snapshot returns the rows of a kind in the order of their places.
pub(crate) trait Row: Clone + PartialEq + Send + Sync + Sized {
    type Place: Copy + Ord + Send + Sync;
    /// `true` if an earlier copy may lack rows before its last row, and may hold rows that were
    /// [replaced](Self::replaces) since.
    const HAS_GAPS: bool = true;

    fn place(&self) -> Self::Place;

    /// Reads up to [`BATCH`] rows. If fewer rows are returned, no further rows follow.
    fn read(
        snapshot: &mut dyn Snapshot,
        after: Option<Self::Place>,
    ) -> impl Future<Output = Result<Vec<Self>, StoreError>> + Send;

    fn is_live(&self, _: Timestamp) -> bool {
        true
    }

    fn is_same(&self, other: &Self, _: Expect) -> bool {
        self == other
    }

    /// Returns whether this row replaced an older row with the same name.
    fn replaces(&self, _: &Self) -> bool {
        false
    }

    /// Returns the row's name, for example `animal 7`.
    fn name(&self) -> String;
    fn words(&self) -> String;
}

impl Row for Pet {
    type Place = PetId;
    const HAS_GAPS: bool = false;

    fn place(&self) -> PetId {
        self.id
    }

    async fn read(
        snapshot: &mut dyn Snapshot,
        after: Option<PetId>,
    ) -> Result<Vec<Self>, StoreError> {
        snapshot.pets(after, BATCH).await
    }

    fn name(&self) -> String {
        format!("animal {}", self.id)
    }

    fn words(&self) -> String {
        let Self { id: _, name, category_id, status } = self;
        let status = status.map_or("without a status", PetStatus::as_str);
        format!("{:?} of category {}, {status}", name.as_str(), category_id.0)
    }
}

impl Row for ApiKey {
    type Place = KeyId;

    fn place(&self) -> KeyId {
        self.id
    }

    async fn read(
        snapshot: &mut dyn Snapshot,
        after: Option<KeyId>,
    ) -> Result<Vec<Self>, StoreError> {
        // A snapshot returns all keys in one call.
        if after.is_some() { Ok(Vec::new()) } else { snapshot.keys().await }
    }

    fn is_same(&self, other: &Self, expect: Expect) -> bool {
        match expect {
            Expect::Equal => *self == Self { last_used_at: self.last_used_at, ..other.clone() },
            Expect::Part | Expect::Whole => self.merged_with(other).is_some(),
        }
    }

    fn name(&self) -> String {
        format!("API key {}", self.id.0)
    }

    fn words(&self) -> String {
        let Self { name, digest, prefix, rights, created_at, expires_at, revoked_at, .. } = self;
        let [expires, revoked] = [("expires", expires_at), ("revoked", revoked_at)]
            .map(|(word, at)| at.map_or_else(String::new, |at| format!(", {word} at {} ms", at.0)));
        let digest = start(&digest.0);
        let (rights, made) = (rights.as_str(), created_at.0);
        format!(
            "'{name}' ({prefix}…, {rights}, digest {digest}…), made at {made} ms{expires}{revoked}"
        )
    }
}

impl Row for IdempotencyRecord {
    type Place = RecordPosition;

    fn place(&self) -> RecordPosition {
        self.position()
    }

    async fn read(
        snapshot: &mut dyn Snapshot,
        after: Option<RecordPosition>,
    ) -> Result<Vec<Self>, StoreError> {
        snapshot.records(after, BATCH).await
    }

    fn is_live(&self, cutoff: Timestamp) -> bool {
        self.at > cutoff
    }

    fn replaces(&self, old: &Self) -> bool {
        old.at < self.at
    }

    fn name(&self) -> String {
        format!("idempotency record {}", self.id)
    }

    fn words(&self) -> String {
        let Self { id: _, fingerprint, pet, at } = self;
        format!("of animal {pet} (digest {}…), made at {} ms", start(&fingerprint.0), at.0)
    }
}

/// Returns the first four bytes of a digest in hex, enough to tell two digests apart.
fn start(digest: &[u8; 32]) -> String {
    let [a, b, c, d, ..] = digest;
    format!("{:08x}", u32::from_be_bytes([*a, *b, *c, *d]))
}
