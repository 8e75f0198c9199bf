//! Reads two stores side by side.

use std::vec;

use petstore_domain::{
    Archive, IdempotencyId, IdempotencyKey, IdempotencyRecord, Pet, PetId, Snapshot, StoreCounts,
    StoreError, Timestamp,
};

use crate::{
    difference::{Difference, between_keys, between_pets, between_records},
    error::TransferError,
    progress::{BATCH, OnProgress, TransferStep, report},
};

/// What the target is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// What the source holds. The last use of a key may differ: each service notes it in its own store.
    Equal,
    /// Nothing but what an earlier copy of the same source has left: its first animals, and of its keys and
    /// records some, whatever has become of them since.
    Prefix,
}

/// Both stores, each as it was when they were opened.
struct Pair {
    from: Box<dyn Snapshot>,
    to: Box<dyn Snapshot>,
    expect: Expect,
    counts: (StoreCounts, StoreCounts),
    /// A record made at this moment or before has expired.
    cutoff: Timestamp,
}

/// What was compared. The snapshot of the target has ended: it would hold up the target's housekeeping.
pub(crate) struct Compared {
    /// The source, as it was.
    pub(crate) from: Box<dyn Snapshot>,
    /// How much it holds.
    pub(crate) total: StoreCounts,
    /// The last animal of the target.
    pub(crate) last: Option<PetId>,
    /// How much of the target was compared: of the records, those that have not expired.
    pub(crate) counts: StoreCounts,
    /// A record made at this moment or before has expired.
    pub(crate) cutoff: Timestamp,
}

/// Compares everything, and shows the animals to `on_pets`.
pub(crate) async fn compare(
    (from, to): (&dyn Archive, &dyn Archive),
    expect: Expect,
    now: Timestamp,
    mut on_pets: impl FnMut(&[Pet]),
    on_progress: OnProgress<'_>,
) -> Result<Compared, TransferError> {
    let mut pair = Pair::open(from, to, expect, now).await?;
    let (last, pets) = pair.pets(&mut on_pets, on_progress).await?;
    let keys = pair.keys().await?;
    let counts = StoreCounts { pets, keys, idempotency_records: pair.records().await? };
    let Pair { from, cutoff, counts: (total, _), .. } = pair;
    Ok(Compared { from, total, last, counts, cutoff })
}

impl Pair {
    async fn open(
        from: &dyn Archive,
        to: &dyn Archive,
        expect: Expect,
        now: Timestamp,
    ) -> Result<Self, TransferError> {
        // A snapshot may take a while to begin: a source is checked for damage.
        let (from, to) = tokio::join!(from.snapshot(), to.snapshot());
        let (mut from, mut to) =
            (from.map_err(TransferError::From)?, to.map_err(TransferError::to)?);
        let counts = (
            from.counts().await.map_err(TransferError::From)?,
            to.counts().await.map_err(TransferError::to)?,
        );
        let cutoff = now.minus(IdempotencyKey::LIFETIME);
        Ok(Self { from, to, expect, counts, cutoff })
    }

    async fn pets(
        &mut self,
        on_pets: &mut impl FnMut(&[Pet]),
        on_progress: OnProgress<'_>,
    ) -> Result<(Option<PetId>, u64), TransferError> {
        let (mut last, mut done, total) = (None, 0, self.counts.1.pets);
        loop {
            let theirs = self.to.pets(last, BATCH).await.map_err(TransferError::to)?;
            if theirs.is_empty() && self.expect == Expect::Prefix {
                return Ok((last, done));
            }
            let mut ours = self.from.pets(last, BATCH).await.map_err(TransferError::From)?;
            if self.expect == Expect::Prefix {
                ours.truncate(theirs.len());
            }
            if ours != theirs {
                let places = 0..ours.len().max(theirs.len());
                let mut differences =
                    places.map(|index| between_pets(ours.get(index), theirs.get(index)));
                self.require_none(differences.find_map(|difference| difference))?;
            }
            let Some(end) = theirs.last() else { return Ok((last, done)) };
            last = Some(end.id);
            done += theirs.len() as u64;
            on_pets(&theirs);
            report(on_progress, TransferStep::ComparePets, done, total)?;
        }
    }

    async fn keys(&mut self) -> Result<u64, TransferError> {
        let from = self.from.keys().await.map_err(TransferError::From)?;
        let to = self.to.keys().await.map_err(TransferError::to)?;
        let difference = match self.expect {
            Expect::Equal => (0..from.len().max(to.len()))
                .find_map(|index| between_keys(from.get(index), to.get(index))),
            Expect::Prefix => to.iter().find_map(|key| {
                let ours = from.iter().find(|ours| ours.id == key.id);
                let is_same = ours.is_some_and(|ours| ours.merged_with(key).is_some());
                if is_same { None } else { between_keys(ours, Some(key)) }
            }),
        };
        self.require_none(difference).map(|()| to.len() as u64)
    }

    /// Compares those that have not expired. Returns how many there are.
    async fn records(&mut self) -> Result<u64, TransferError> {
        let is_prefix = self.expect == Expect::Prefix;
        let mut done = 0;
        let mut from = LiveRecords::new(&mut *self.from, self.cutoff);
        let mut to = LiveRecords::new(&mut *self.to, self.cutoff);
        let difference = loop {
            let theirs = to.next().await.map_err(TransferError::to)?;
            let mut ours = None;
            if theirs.is_some() || !is_prefix {
                ours = from.next().await.map_err(TransferError::From)?;
            }
            if let (Some(theirs), true) = (&theirs, is_prefix) {
                while ours.is_some_and(|ours| ours.id < theirs.id) {
                    ours = from.next().await.map_err(TransferError::From)?;
                }
                // The source may have replaced it since.
                if ours.is_some_and(|ours| ours.id == theirs.id && ours.at > theirs.at) {
                    continue;
                }
            }
            let difference = between_records(ours.as_ref(), theirs.as_ref());
            if difference.is_some() || theirs.is_none() {
                break difference;
            }
            done += 1;
        };
        self.require_none(difference).map(|()| done)
    }

    fn require_none(&self, difference: Option<Difference>) -> Result<(), TransferError> {
        let (from, to) = self.counts;
        difference.map_or(Ok(()), |difference| {
            Err(match self.expect {
                Expect::Equal => TransferError::Different { difference, from, to },
                Expect::Prefix => TransferError::OtherData(difference),
            })
        })
    }
}

/// Reads the idempotency records of a snapshot that have not expired, in its order.
pub(crate) struct LiveRecords<'s> {
    snapshot: &'s mut dyn Snapshot,
    cutoff: Timestamp,
    /// The last one that was read.
    after: Option<IdempotencyId>,
    batch: vec::IntoIter<IdempotencyRecord>,
}

impl<'s> LiveRecords<'s> {
    pub(crate) fn new(snapshot: &'s mut dyn Snapshot, cutoff: Timestamp) -> Self {
        Self { snapshot, cutoff, after: None, batch: vec::IntoIter::default() }
    }

    /// Returns the next one, or `None` if there is no more.
    pub(crate) async fn next(&mut self) -> Result<Option<IdempotencyRecord>, StoreError> {
        loop {
            let cutoff = self.cutoff;
            if let Some(record) = self.batch.find(|record| record.at > cutoff) {
                return Ok(Some(record));
            }
            let batch = self.snapshot.idempotency_records(self.after, BATCH).await?;
            let Some(last) = batch.last() else { return Ok(None) };
            self.after = Some(last.id);
            self.batch = batch.into_iter();
        }
    }
}
