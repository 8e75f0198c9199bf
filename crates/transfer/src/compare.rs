//! Compares two stores, row by row.

use std::{
    cmp::Ordering,
    collections::{HashMap, hash_map::Entry},
    vec,
};

use petstore_domain::{
    ApiKey, Archive, HighestIds, IdempotencyKey, IdempotencyRecord, Pet, PetId, RecordPosition,
    Snapshot, StoreCounts, StoreError, Timestamp,
};

use crate::{
    difference::{BATCH, Difference, Expect, Row},
    error::TransferError,
    progress::{OnProgress, TransferStep, report},
};

/// The last rows that were copied or compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) pet: Option<PetId>,
    pub(crate) record: Option<RecordPosition>,
}

/// The result of a comparison that found no difference.
pub(crate) struct Compared {
    /// The last animal of the target.
    pub(crate) last: Option<PetId>,
    /// The number of rows of the target that were compared. Expired records are not compared.
    pub(crate) counts: StoreCounts,
}

/// Two snapshots to compare.
pub(crate) struct Pair {
    pub(crate) source: Box<dyn Snapshot>,
    pub(crate) target: Box<dyn Snapshot>,
    /// A record made at this moment or before has expired.
    pub(crate) cutoff: Timestamp,
}

/// Returns the cutoff for `now`. Records made at the cutoff or before have expired.
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

    /// Compares the rows after `after`.
    ///
    /// # Errors
    /// [`TransferError::OtherData`] names the first difference.
    pub(crate) async fn compare(
        &mut self,
        expect: Expect,
        after: Position,
        on_progress: OnProgress<'_>,
    ) -> Result<Compared, TransferError> {
        let (mut last, mut done) = (after.pet, 0);
        let mut on_row = |pet: &Pet| {
            (last, done) = (Some(pet.id), done + 1);
            let is_due = done % u64::from(BATCH) == 0;
            if is_due { report(on_progress, TransferStep::ComparePets, done, 0) } else { Ok(()) }
        };
        let pets = self.rows(expect, after.pet, &mut on_row).await?;
        let keys = self.rows::<ApiKey>(expect, None, &mut |_| Ok(())).await?;
        let records = self.rows::<IdempotencyRecord>(expect, after.record, &mut |_| Ok(())).await?;
        if expect == Expect::Equal {
            self.highest_ids().await?;
        }
        Ok(Compared { last, counts: StoreCounts { pets, keys, records } })
    }

    /// Compares the rows of one kind. Returns their number in the target.
    async fn rows<R: Row>(
        &mut self,
        expect: Expect,
        after: Option<R::Place>,
        on_row: &mut (impl FnMut(&R) -> Result<(), TransferError> + Send),
    ) -> Result<u64, TransferError> {
        let ours = Reader::new(&mut *self.source, self.cutoff, after, TransferError::Source);
        let theirs = Reader::new(&mut *self.target, self.cutoff, after, TransferError::target);
        compare(ours, theirs, expect, on_row).await
    }

    /// Compares the highest identifiers ever assigned.
    async fn highest_ids(&mut self) -> Result<(), TransferError> {
        let ours = self.source.highest_ids().await.map_err(TransferError::Source)?;
        let theirs = self.target.highest_ids().await.map_err(TransferError::target)?;
        let ids = |highest: HighestIds| [highest.pet.map(|id| id.0), highest.key.map(|id| id.0)];
        for (rows, (source, target)) in
            ["animals", "API keys"].into_iter().zip(ids(ours).into_iter().zip(ids(theirs)))
        {
            if target < source {
                let what = format!("the highest identifier of {rows} ever assigned");
                let [source, target] = [source, target].map(|id| id.map(|id| id.to_string()));
                return Err(TransferError::OtherData(Difference { what, source, target }));
            }
        }
        Ok(())
    }
}

/// Compares rows in their order. Returns the number of rows in the target.
async fn compare<'s, R: Row>(
    ours: Reader<'s, R>,
    theirs: Reader<'s, R>,
    expect: Expect,
    on_row: &mut (impl FnMut(&R) -> Result<(), TransferError> + Send),
) -> Result<u64, TransferError> {
    let (is_part, is_reversed) = (expect != Expect::Equal, expect == Expect::Whole);
    let (mut ours, mut theirs) = if is_reversed { (theirs, ours) } else { (ours, theirs) };
    let differs = |one: Option<&R>, other: Option<&R>| {
        let (source, target) = if is_reversed { (other, one) } else { (one, other) };
        TransferError::OtherData(Difference::between(source, target))
    };
    // Rows that only the target holds. Each must have been replaced in the source.
    let (mut replaced, mut count) = (HashMap::new(), 0);
    let (mut our, mut their) = (ours.next().await?, theirs.next().await?);
    loop {
        let order = match (&our, &their) {
            (None, None) => break,
            (Some(one), Some(other)) => one.place().cmp(&other.place()),
            (Some(_), None) if is_part && replaced.is_empty() => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        };
        let is_same = match (order, &our, &their) {
            (Ordering::Equal, Some(one), Some(other)) => one.is_same(other, expect),
            (Ordering::Less, Some(one), _) if is_part && R::HAS_GAPS => {
                if !replaced.is_empty()
                    && let Entry::Occupied(old) = replaced.entry(one.name())
                    && one.replaces(old.get())
                {
                    old.remove();
                }
                true
            }
            (Ordering::Greater, _, Some(other)) if is_part && R::HAS_GAPS => {
                replaced.insert(other.name(), other.clone());
                true
            }
            _ => false,
        };
        let (one, other) = (our.take_if(|_| order.is_le()), their.take_if(|_| order.is_ge()));
        if !is_same {
            return Err(differs(one.as_ref(), other.as_ref()));
        }
        if one.is_some() {
            our = ours.next().await?;
        }
        if let Some(row) = other {
            count += 1;
            on_row(&row)?;
            their = theirs.next().await?;
        }
    }
    match replaced.into_values().min_by_key(Row::place) {
        None => Ok(count),
        Some(first) => Err(differs(None, Some(&first))),
    }
}

/// Reads the live rows of a snapshot, in their order.
struct Reader<'s, R: Row> {
    snapshot: &'s mut dyn Snapshot,
    cutoff: Timestamp,
    /// The last row that was read.
    after: Option<R::Place>,
    batch: vec::IntoIter<R>,
    /// `true` if no row follows the batch.
    is_end: bool,
    failed: fn(StoreError) -> TransferError,
}

impl<'s, R: Row> Reader<'s, R> {
    fn new(
        snapshot: &'s mut dyn Snapshot,
        cutoff: Timestamp,
        after: Option<R::Place>,
        failed: fn(StoreError) -> TransferError,
    ) -> Self {
        Self { snapshot, cutoff, after, batch: vec::IntoIter::default(), is_end: false, failed }
    }

    /// Returns the next row, or `None` after the last one.
    async fn next(&mut self) -> Result<Option<R>, TransferError> {
        loop {
            let cutoff = self.cutoff;
            let row = self.batch.find(|row| row.is_live(cutoff));
            if row.is_some() || self.is_end {
                return Ok(row);
            }
            let batch = R::read(self.snapshot, self.after).await.map_err(self.failed)?;
            self.is_end = batch.len() < BATCH as usize;
            self.after = batch.last().map(Row::place).or(self.after);
            self.batch = batch.into_iter();
        }
    }
}
