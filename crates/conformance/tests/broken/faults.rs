//! Faults of an adapter over the store in memory: closures that run instead of its calls.

use std::{pin::Pin, sync::Arc};

use petstore_domain::{
    AddError, Added, ApiKey, ArchiveError, CatalogueVersion, HighestIds, IdempotencyRecord,
    IdempotencyRequest, KeyChanges, KeyId, KeyMark, KeyRevision, NewPet, Pet, PetId, PetPage,
    PetQuery, PetRepository, Purged, Rows, SaveOutcome, Snapshot, StoreError, StoreState,
    StoredKeys, Timestamp, Versioned, WriterRole,
};
use petstore_memory::MemoryStore;

type Reply<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Fault<In, Out> = Arc<dyn Fn(Arc<MemoryStore>, In) -> Reply<Out> + Send + Sync>;

pub(crate) type Request = Option<IdempotencyRequest>;

/// Defines the struct, and for each call a method with the same name that sets the fault.
macro_rules! faults {
    ($($call:ident: $in:ty => $out:ty;)*) => {
        /// The faults of one open handle. A call without a fault goes to the store in memory.
        #[derive(Clone, Default)]
        pub(crate) struct Faults {
            $(pub(crate) $call: Option<Fault<$in, $out>>,)*
            /// Changes every version, also the versions of reads.
            pub(crate) versions: Option<Arc<dyn Fn(u128) -> u128 + Send + Sync>>,
            /// Changes only the result of `version`.
            pub(crate) own_version: Option<Arc<dyn Fn(Version) -> Version + Send + Sync>>,
            /// Changes the content when the store is reopened.
            pub(crate) reopened: Option<fn(&mut Content)>,
            /// `true` if two callers that open a new store at once create a store each.
            pub(crate) made_twice: bool,
            /// `true` if uses of keys are acknowledged while the store cannot be reached.
            pub(crate) forgets_uses: bool,
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
    load_changes: Option<KeyMark> => Result<KeyChanges, StoreError>;
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

/// The content of a store.
pub(crate) struct Content {
    pub(crate) pets: Vec<Pet>,
    pub(crate) keys: Vec<ApiKey>,
    pub(crate) records: Vec<IdempotencyRecord>,
    pub(crate) highest: HighestIds,
    pub(crate) state: StoreState,
}

/// Constructors of frequent faults.
impl Faults {
    /// Stores the animal that `change` returns.
    pub(crate) fn change_pet(change: fn(NewPet) -> NewPet) -> Self {
        Self::default().add(move |store, (pet, request)| async move {
            PetRepository::add(&*store, change(pet), request).await
        })
    }

    /// Adds an animal with the request that `change` has changed.
    pub(crate) fn change_request(
        change: impl Fn(&mut IdempotencyRequest) + Send + Sync + 'static,
    ) -> Self {
        Self::default().add(move |store, (pet, mut request)| {
            request.iter_mut().for_each(&change);
            async move { PetRepository::add(&*store, pet, request).await }
        })
    }

    /// Lists with the query that `change` returns.
    pub(crate) fn change_query(change: fn(PetQuery) -> PetQuery) -> Self {
        Self::default().list(move |store, query| async move {
            PetRepository::list(&*store, change(query)).await
        })
    }

    /// Returns the page that `change` has changed.
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
