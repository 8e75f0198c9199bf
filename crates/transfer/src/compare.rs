//! Reads two stores side by side.

use std::{collections::HashMap, vec};

use petstore_domain::{
    Archive, IdempotencyKey, IdempotencyRecord, Pet, PetId, RecordPosition, Snapshot, StoreCounts,
    StoreError, Timestamp,
};

use crate::{
    difference::{Difference, between_keys, between_pets, between_records},
    error::TransferError,
    progress::{BATCH, OnProgress, TransferStep, report},
};

/// The last rows that were copied, or compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) pet: Option<PetId>,
    pub(crate) record: Option<RecordPosition>,
}

/// The rows that the target is expected to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// The rows of the source. The last use of a key may differ: each service notes it in its own store.
    Equal,
    /// Rows of an earlier copy of the source: its first animals, and some of its keys and records, whatever has become
    /// of them since.
    Part,
}

/// The result of a comparison that found no difference.
pub(crate) struct Compared {
    /// The last animal of the target.
    pub(crate) last: Option<PetId>,
    /// The number of rows of the target that were compared. Expired records are not compared.
    pub(crate) counts: StoreCounts,
}

/// Two snapshots to be compared.
pub(crate) struct Pair {
    pub(crate) source: Box<dyn Snapshot>,
    pub(crate) target: Box<dyn Snapshot>,
    /// A record made at this moment or before has expired.
    pub(crate) cutoff: Timestamp,
}

/// Returns the moment at which a record was made that expires `now`.
pub(crate) fn cutoff(now: Timestamp) -> Timestamp {
    now.minus(IdempotencyKey::LIFETIME)
}

impl Pair {
    /// Takes a snapshot of each store.
    pub(crate) async fn open(
        source: &dyn Archive,
        target: &dyn Archive,
        cutoff: Timestamp,
    ) -> Result<Self, TransferError> {
        let (source, target) = tokio::join!(source.snapshot(), target.snapshot());
        let source = source.map_err(TransferError::Source)?;
        Ok(Self { source, target: target.map_err(TransferError::target)?, cutoff })
    }

    /// Compares the rows behind `after`, and shows the animals of the target to `on_pets`.
    ///
    /// # Errors
    /// [`TransferError::OtherData`] names the first difference.
    pub(crate) async fn compare(
        &mut self,
        expect: Expect,
        after: Position,
        mut on_pets: impl FnMut(&[Pet]),
        on_progress: OnProgress<'_>,
    ) -> Result<Compared, TransferError> {
        let (last, pets) = self.pets(expect, after.pet, &mut on_pets, on_progress).await?;
        let keys = self.keys(expect).await?;
        let records = self.records(expect, after.record).await?;
        if expect == Expect::Equal {
            self.highest_ids().await?;
        }
        Ok(Compared { last, counts: StoreCounts { pets, keys, records } })
    }

    async fn pets(
        &mut self,
        expect: Expect,
        mut last: Option<PetId>,
        on_pets: &mut impl FnMut(&[Pet]),
        on_progress: OnProgress<'_>,
    ) -> Result<(Option<PetId>, u64), TransferError> {
        let mut done = 0;
        loop {
            let theirs = self.target.pets(last, BATCH).await.map_err(TransferError::target)?;
            if theirs.is_empty() && expect == Expect::Part {
                return Ok((last, done));
            }
            let mut ours = self.source.pets(last, BATCH).await.map_err(TransferError::Source)?;
            if expect == Expect::Part {
                ours.truncate(theirs.len());
            }
            if ours != theirs {
                let places = 0..ours.len().max(theirs.len());
                let mut differences =
                    places.map(|index| between_pets(ours.get(index), theirs.get(index)));
                require_none(differences.find_map(|difference| difference))?;
            }
            let Some(end) = theirs.last() else { return Ok((last, done)) };
            last = Some(end.id);
            done += theirs.len() as u64;
            on_pets(&theirs);
            report(on_progress, TransferStep::ComparePets, done, 0)?;
        }
    }

    async fn keys(&mut self, expect: Expect) -> Result<u64, TransferError> {
        let ours = self.source.keys().await.map_err(TransferError::Source)?;
        let theirs = self.target.keys().await.map_err(TransferError::target)?;
        let difference = if expect == Expect::Equal {
            (0..ours.len().max(theirs.len()))
                .find_map(|index| between_keys(ours.get(index), theirs.get(index)))
        } else {
            theirs.iter().find_map(|key| {
                let ours = ours.iter().find(|ours| ours.id == key.id);
                let is_same = ours.is_some_and(|ours| ours.merged_with(key).is_some());
                if is_same { None } else { between_keys(ours, Some(key)) }
            })
        };
        require_none(difference).map(|()| theirs.len() as u64)
    }

    /// Compares the records that have not expired. Returns their number in the target.
    async fn records(
        &mut self,
        expect: Expect,
        after: Option<RecordPosition>,
    ) -> Result<u64, TransferError> {
        let mut ours = LiveRecords::new(&mut *self.source, self.cutoff, after);
        let mut theirs = LiveRecords::new(&mut *self.target, self.cutoff, after);
        // Records of the target that the source has only if it has replaced them by younger ones, of later animals.
        let mut replaced = HashMap::new();
        let mut done = 0;
        let mut our = ours.next().await.map_err(TransferError::Source)?;
        let mut their = theirs.next().await.map_err(TransferError::target)?;
        while their.is_some() || our.is_some() && expect == Expect::Equal || !replaced.is_empty() {
            match (our, their) {
                (None, None) => break,
                (Some(one), Some(other)) if one == other => {}
                (Some(one), Some(other)) if one.position() == other.position() => {
                    require_none(between_records(Some(&one), Some(&other)))?;
                }
                (Some(one), _) if their.is_none_or(|their| one.position() < their.position()) => {
                    if replaced.get(&one.id).is_some_and(|old: &IdempotencyRecord| old.at < one.at)
                    {
                        replaced.remove(&one.id);
                    }
                    if expect == Expect::Equal {
                        require_none(between_records(Some(&one), None))?;
                    }
                    our = ours.next().await.map_err(TransferError::Source)?;
                    continue;
                }
                (_, Some(other)) => {
                    replaced.insert(other.id, other);
                    done += 1;
                    their = theirs.next().await.map_err(TransferError::target)?;
                    continue;
                }
                (Some(_), None) => {}
            }
            done += 1;
            our = ours.next().await.map_err(TransferError::Source)?;
            their = theirs.next().await.map_err(TransferError::target)?;
        }
        let first = replaced.into_values().min_by_key(IdempotencyRecord::position);
        require_none(first.and_then(|first| between_records(None, Some(&first))))?;
        Ok(done)
    }

    /// Compares the highest identifiers ever assigned.
    async fn highest_ids(&mut self) -> Result<(), TransferError> {
        let ours = self.source.highest_ids().await.map_err(TransferError::Source)?;
        let theirs = self.target.highest_ids().await.map_err(TransferError::target)?;
        let [our_pet, their_pet] = [ours.pet, theirs.pet].map(|id| id.map_or(0, |id| id.0));
        let [our_key, their_key] = [ours.key, theirs.key].map(|id| id.map_or(0, |id| id.0));
        for (rows, in_source, in_target) in
            [("animals", our_pet, their_pet), ("API keys", our_key, their_key)]
        {
            if in_target < in_source {
                return Err(TransferError::LowerHighestId { rows, in_source, in_target });
            }
        }
        Ok(())
    }
}

fn require_none(difference: Option<Difference>) -> Result<(), TransferError> {
    difference.map_or(Ok(()), |difference| Err(TransferError::OtherData(difference)))
}

/// Reads the idempotency records of a snapshot that have not expired, in its order.
pub(crate) struct LiveRecords<'s> {
    snapshot: &'s mut dyn Snapshot,
    cutoff: Timestamp,
    /// The last record that was read.
    after: Option<RecordPosition>,
    batch: vec::IntoIter<IdempotencyRecord>,
}

impl<'s> LiveRecords<'s> {
    pub(crate) fn new(
        snapshot: &'s mut dyn Snapshot,
        cutoff: Timestamp,
        after: Option<RecordPosition>,
    ) -> Self {
        Self { snapshot, cutoff, after, batch: vec::IntoIter::default() }
    }

    /// Returns the next record, or `None` after the last one.
    pub(crate) async fn next(&mut self) -> Result<Option<IdempotencyRecord>, StoreError> {
        loop {
            let cutoff = self.cutoff;
            if let Some(record) = self.batch.find(|record| record.at > cutoff) {
                return Ok(Some(record));
            }
            let batch = self.snapshot.records(self.after, BATCH).await?;
            let Some(last) = batch.last() else { return Ok(None) };
            self.after = Some(last.position());
            self.batch = batch.into_iter();
        }
    }
}
