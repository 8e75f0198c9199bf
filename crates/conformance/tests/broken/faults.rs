//! Faults of an adapter over the store in memory: closures in front of its calls.

use std::{pin::Pin, sync::Arc};

use petstore_domain::{
    AddError, Added, ApiKey, ArchiveError, CatalogueVersion, HighestIds, IdempotencyRecord,
    IdempotencyRequest, KeyId, KeyRevision, NewPet, Pet, PetId, PetPage, PetQuery, PetRepository,
    Purged, Rows, SaveOutcome, Snapshot, StoreError, StoreState, StoredKeys, Timestamp, Versioned,
    WriterRole,
};
use petstore_memory::MemoryStore;

type Reply<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Fault<In, Out> = Arc<dyn Fn(Arc<MemoryStore>, In) -> Reply<Out> + Send + Sync>;

pub(crate) type Request = Option<IdempotencyRequest>;

/// Makes the struct, and for each call a method of its name that sets the fault.
macro_rules! faults {
    ($($call:ident: $in:ty => $out:ty;)*) => {
        /// The faults of one open handle. A call without one goes to the store in memory.
        #[derive(Clone, Default)]
        pub(crate) struct Faults {
            $(pub(crate) $call: Option<Fault<$in, $out>>,)*
            /// Changes every version, of reads too.
            pub(crate) versions: Option<Arc<dyn Fn(u128) -> u128 + Send + Sync>>,
            /// Changes the answer of `version` alone.
            pub(crate) own_version: Option<Arc<dyn Fn(Version) -> Version + Send + Sync>>,
            /// Changes what there is when the store is opened again.
            pub(crate) reopened: Option<fn(&mut Content)>,
            /// Two that open a new store at once make one each.
            pub(crate) made_twice: bool,
            /// `true` if changes by another process are not seen.
            pub(crate) alone: bool,
        }

        impl Faults {
            $(pub(crate) fn $call<F>(
                self,
                fault: impl Fn(Arc<MemoryStore>, $in) -> F + Send + Sync + 'static,
            ) -> Self
            where
                F: Future<Output = $out> + Send + 'static,
            {
                let $call: Fault<$in, $out> = Arc::new(move |store, args| Box::pin(fault(store, args)));
                Self { $call: Some($call), ..self }
            })*
        }
    };
}

faults! {
    add: (NewPet, Request) => Result<Added, AddError>;
    find: PetId => Result<Versioned<Option<Pet>>, StoreError>;
    list: PetQuery => Result<Versioned<PetPage>, StoreError>;
    purge: (Timestamp, u32) => Result<Purged, StoreError>;
    load: Option<KeyRevision> => Result<Option<StoredKeys>, StoreError>;
    save: (KeyRevision, Vec<ApiKey>, Vec<KeyId>) => Result<SaveOutcome, StoreError>;
    note_uses: Vec<(KeyId, Timestamp)> => Result<(), StoreError>;
    snapshot: () => Result<Box<dyn Snapshot>, StoreError>;
    write_rows: (WriterRole, Rows) => Result<u64, ArchiveError>;
    add_new: (Vec<NewPet>, Request) => Result<u64, ArchiveError>;
    state: () => Result<StoreState, StoreError>;
    change_state: (i64, StoreState) => Result<bool, StoreError>;
    unreachable: () => Result<(), StoreError>;
}

pub(crate) type Version = Option<CatalogueVersion>;

/// All that a store holds.
pub(crate) struct Content {
    pub(crate) pets: Vec<Pet>,
    pub(crate) keys: Vec<ApiKey>,
    pub(crate) records: Vec<IdempotencyRecord>,
    pub(crate) highest: HighestIds,
    pub(crate) state: StoreState,
}

/// The usual shapes.
impl Faults {
    /// Stores what `change` makes of an animal.
    pub(crate) fn change_pet(change: fn(NewPet) -> NewPet) -> Self {
        Self::default().add(move |store, (pet, request)| async move {
            PetRepository::add(&*store, change(pet), request).await
        })
    }

    /// Stores by a request that `change` has changed.
    pub(crate) fn change_request(
        change: impl Fn(&mut IdempotencyRequest) + Send + Sync + 'static,
    ) -> Self {
        Self::default().add(move |store, (pet, mut request)| {
            request.iter_mut().for_each(&change);
            async move { PetRepository::add(&*store, pet, request).await }
        })
    }

    /// Asks for what `change` makes of a query.
    pub(crate) fn change_query(change: fn(PetQuery) -> PetQuery) -> Self {
        Self::default().list(move |store, query| async move {
            PetRepository::list(&*store, change(query)).await
        })
    }

    /// Answers what `change` makes of a page.
    pub(crate) fn change_page(
        change: impl Fn(PetQuery, &mut PetPage) + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::default().list(move |store, query| {
            let change = change.clone();
            async move {
                let mut page = PetRepository::list(&*store, query).await?;
                change(query, &mut page.value);
                Ok(page)
            }
        })
    }

    /// Changes every version.
    pub(crate) fn change_versions(change: impl Fn(u128) -> u128 + Send + Sync + 'static) -> Self {
        Self { versions: Some(Arc::new(change)), ..Self::default() }
    }
}
