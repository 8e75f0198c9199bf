//! Compares two stores, row by row.

use std::{cmp::Ordering, collections::HashMap, vec};

use petstore_domain::{
    ApiKey, Archive, IdempotencyKey, IdempotencyRecord, Pet, PetId, RecordPosition, Snapshot,
    StoreCounts, StoreError, Timestamp,
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
    /// The last compared animal of the target; of the source for [`Expect::Whole`].
    pub(crate) last: Option<PetId>,
    /// The number of compared rows of the target; of the source for [`Expect::Whole`]. Expired records are not
    /// compared.
    pub(crate) counts: StoreCounts,
}

/// Two snapshots to compare.
pub(crate) struct Pair {
    pub(crate) source: Box<dyn Snapshot>,
    pub(crate) target: Box<dyn Snapshot>,
    /// A record made at this moment or before has expired.
    pub(crate) cutoff: Timestamp,
}

impl Pair {
    /// Takes a snapshot of each store at the time `now`.
    pub(crate) async fn open(
        source: &dyn Archive,
        target: &dyn Archive,
        now: Timestamp,
    ) -> Result<Self, TransferError> {
        let cutoff = IdempotencyKey::cutoff(now);
        let (source, target) = tokio::join!(source.snapshot(), target.snapshot());
        let source = source.map_err(TransferError::Source)?;
        Ok(Self { source, target: target.map_err(TransferError::target)?, cutoff })
    }

    /// Compares the animals and records after `after`, and all API keys. Also checks the highest identifiers for
    /// [`Expect::Equal`].
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

    /// Compares the rows of one kind. Returns their number in the target; in the source for [`Expect::Whole`].
    async fn rows<R: Row>(
        &mut self,
        expect: Expect,
        after: Option<R::Place>,
        on_row: &mut (impl FnMut(&R) -> Result<(), TransferError> + Send),
    ) -> Result<u64, TransferError> {
        let cutoff = self.cutoff;
        let reader = |snapshot, failed| Reader {
            snapshot,
            cutoff,
            after,
            batch: Vec::new().into_iter(),
            is_end: false,
            failed,
        };
        let source = reader(&mut *self.source, TransferError::Source);
        let target = reader(&mut *self.target, TransferError::target);
        compare(source, target, expect, on_row).await
    }

    /// Checks that the target cannot assign an identifier again that the source has assigned.
    async fn highest_ids(&mut self) -> Result<(), TransferError> {
        let source = self.source.highest_ids().await.map_err(TransferError::Source)?;
        let target = self.target.highest_ids().await.map_err(TransferError::target)?;
        let pets = [source.pet, target.pet].map(|id| id.map(|id| id.0));
        let keys = [source.key, target.key].map(|id| id.map(|id| id.0));
        for (rows, [source, target]) in [("animals", pets), ("API keys", keys)] {
            if target < source {
                let what = format!("the highest identifier of {rows} ever assigned");
                let [source, target] = [source, target].map(|id| id.map(|id| id.to_string()));
                return Err(TransferError::OtherData(Difference { what, source, target }));
            }
        }
        Ok(())
    }
}

/// Compares rows in their order. Unless `expect` is [`Expect::Equal`], one store (the part) may lack rows of the other
/// store (the whole). Returns the number of rows of the source for [`Expect::Whole`], otherwise of the target.
async fn compare<'s, R: Row>(
    source: Reader<'s, R>,
    target: Reader<'s, R>,
    expect: Expect,
    on_row: &mut (impl FnMut(&R) -> Result<(), TransferError> + Send),
) -> Result<u64, TransferError> {
    let (has_part, is_reversed) = (expect != Expect::Equal, expect == Expect::Whole);
    let has_gaps = has_part && R::HAS_GAPS;
    let (mut whole_rows, mut part_rows) =
        if is_reversed { (target, source) } else { (source, target) };
    let differs = |whole: Option<&R>, part: Option<&R>| {
        let (source, target) = if is_reversed { (part, whole) } else { (whole, part) };
        let what = source.or(target).map_or_else(String::new, Row::name);
        let [source, target] = [source, target].map(|row| row.map(Row::words));
        TransferError::OtherData(Difference { what, source, target })
    };
    // Rows that only the part holds so far. The whole must hold a later row that replaced each of them.
    let (mut replaced, mut count) = (HashMap::new(), 0);
    let (mut next_whole, mut next_part) = (whole_rows.next().await?, part_rows.next().await?);
    loop {
        let order = match (&next_whole, &next_part) {
            (None, None) => break,
            (Some(whole), Some(part)) => whole.place().cmp(&part.place()),
            (Some(_), None) if has_part && replaced.is_empty() => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        };
        let whole = next_whole.take_if(|_| order.is_le());
        let part = next_part.take_if(|_| order.is_ge());
        match (&whole, &part) {
            (Some(whole), Some(part)) if whole.is_same(part, expect) => {}
            (Some(whole), None) if has_gaps => {
                let name = whole.name();
                if replaced.get(&name).is_some_and(|old| whole.replaces(old)) {
                    replaced.remove(&name);
                }
            }
            (None, Some(part)) if has_gaps => _ = replaced.insert(part.name(), part.clone()),
            _ => return Err(differs(whole.as_ref(), part.as_ref())),
        }
        if whole.is_some() {
            next_whole = whole_rows.next().await?;
        }
        if let Some(row) = part {
            count += 1;
            on_row(&row)?;
            next_part = part_rows.next().await?;
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

impl<R: Row> Reader<'_, R> {
    /// Returns the next row; `None` after the last row.
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
