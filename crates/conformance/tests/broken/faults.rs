//! Faults of an adapter over the store in memory: closures that run instead of its calls.

use std::{
    ops::Deref,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use petstore_domain::{
    AddError, Added, ApiKey, Archive as _, ArchiveError, CatalogueVersion, Handover as _,
    IdempotencyRequest, KeyChanges, KeyId, KeyMark, KeyRevision, KeyStore as _, NewPet, Pet, PetId,
    PetPage, PetQuery, PetRepository as _, Phase, Purged, Rows, SaveOutcome, Snapshot, StoreError,
    StoreState, StoredKeys, Timestamp, Versioned, WriterRole,
};
use petstore_memory::MemoryStore;
use tokio::time::sleep;

use crate::flaw::Notes;

pub(crate) type Request = Option<IdempotencyRequest>;
pub(crate) type Version = Option<CatalogueVersion>;

/// One handle of a store in memory, without faults, and what the flaw notes.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) store: Arc<MemoryStore>,
    /// The number of the handle, from 0.
    pub(crate) number: u8,
    /// The notes about the store, shared by all its handles.
    pub(crate) notes: Arc<Notes>,
    /// The notes about this handle.
    pub(crate) own: Arc<Notes>,
}

impl Handle {
    pub(crate) fn is_cut_off(&self) -> bool {
        self.notes.is_cut_off.load(Ordering::SeqCst)
    }

    /// Returns `true` for every second handle that is opened.
    pub(crate) fn is_another(&self) -> bool {
        !self.number.is_multiple_of(2)
    }
}

impl Deref for Handle {
    type Target = MemoryStore;

    fn deref(&self) -> &MemoryStore {
        &self.store
    }
}

type Reply<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// One call of a port, with or without a fault.
pub(crate) struct Call<In, T, E = StoreError>(Arc<dyn Fn(Handle, In) -> Reply<T, E> + Send + Sync>);

impl<In, T, E> Clone for Call<In, T, E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<In: Clone + Send + 'static, T: 'static, E: 'static> Call<In, T, E> {
    fn new<F>(call: impl Fn(Handle, In) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        Self(Arc::new(move |store, input| Box::pin(call(store, input))))
    }

    pub(crate) async fn run(&self, store: &Handle, input: In) -> Result<T, E> {
        self.0(store.clone(), input).await
    }

    /// Replaces the call.
    pub(crate) fn replace<F>(&mut self, fault: impl Fn(Handle, In) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        *self = Self::new(fault);
    }

    /// Changes the arguments before the call.
    pub(crate) fn edit_input(&mut self, edit: impl Fn(&mut In) + Send + Sync + 'static) {
        let call = Arc::clone(&self.0);
        self.replace(move |store, mut input| {
            edit(&mut input);
            call(store, input)
        });
    }

    /// Changes the result after the call, which also depends on the arguments.
    pub(crate) fn edit_output(
        &mut self,
        edit: impl Fn(&Handle, &In, &mut T) + Send + Sync + 'static,
    ) {
        let (call, edit) = (Arc::clone(&self.0), Arc::new(edit));
        self.replace(move |store, input: In| {
            let (reply, edit) = (call(store.clone(), input.clone()), Arc::clone(&edit));
            async move {
                let mut output = reply.await?;
                edit(&store, &input, &mut output);
                Ok(output)
            }
        });
    }
}

/// How a call is answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    AsUsual,
    /// The call is carried out, also while the store is not open.
    CarriedOut,
    /// The call is refused, but carried out.
    RefusedAndCarriedOut,
    Unavailable,
    Refused,
    /// The call is unavailable after two seconds, which is longer than the limit of a call during an outage.
    Late,
}

impl Answer {
    pub(crate) async fn to<T, E: From<StoreError>>(
        self,
        store: &MemoryStore,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        match self {
            Self::AsUsual => call.await,
            Self::CarriedOut => unfenced(store, call).await,
            Self::RefusedAndCarriedOut => {
                let _ = unfenced(store, call).await;
                Err(StoreError::sealed("is not open").into())
            }
            Self::Unavailable => Err(StoreError::unavailable("the store is gone").into()),
            Self::Refused => Err(StoreError::refused("there is no connection").into()),
            Self::Late => {
                sleep(Duration::from_secs(2)).await;
                Err(StoreError::unavailable("the store is gone").into())
            }
        }
    }
}

/// Opens the store for the time of the call, and then restores its state.
pub(crate) async fn unfenced<T>(store: &MemoryStore, call: impl Future<Output = T>) -> T {
    let state = store.state().await.unwrap();
    let open = StoreState { phase: Phase::Open { from: None }, ..state.clone() };
    store.change_state(state.revision, open).await.unwrap();
    let result = call.await;
    store.change_state(state.revision, state).await.unwrap();
    result
}

/// Chooses the answer of each call by its kind and the state of the store.
type Choose = dyn Fn(&Handle, &str, &StoreState) -> Answer + Send + Sync;

/// A change of the rows and the state of a store.
pub(crate) type Change = dyn Fn(&mut Rows, &mut StoreState) + Send + Sync;

/// The calls and the faults of one open handle.
pub(crate) struct Faults {
    pub(crate) add: Call<(NewPet, Request), Added, AddError>,
    pub(crate) find: Call<PetId, Versioned<Option<Pet>>>,
    pub(crate) list: Call<PetQuery, Versioned<PetPage>>,
    pub(crate) purge: Call<(Timestamp, u32), Purged>,
    pub(crate) load: Call<Option<KeyRevision>, Option<StoredKeys>>,
    pub(crate) load_changes: Call<Option<KeyMark>, KeyChanges>,
    pub(crate) save: Call<(KeyRevision, Vec<ApiKey>, Vec<KeyId>), SaveOutcome>,
    pub(crate) note_uses: Call<Vec<(KeyId, Timestamp)>, ()>,
    pub(crate) snapshot: Call<(), Box<dyn Snapshot>>,
    pub(crate) write_rows: Call<(WriterRole, Rows), u64, ArchiveError>,
    pub(crate) add_new: Call<(Vec<NewPet>, Request), u64, ArchiveError>,
    pub(crate) state: Call<(), StoreState>,
    pub(crate) change_state: Call<(i64, StoreState), bool>,
    pub(crate) answer: Box<Choose>,
    /// Changes every version, also the versions of reads.
    pub(crate) versions: fn(&Handle, u128) -> u128,
    /// Changes only the result of `version`.
    pub(crate) own_version: fn(&Handle, Version) -> Version,
    /// Changes the rows and the state when the store is reopened.
    pub(crate) reopened: Option<Box<Change>>,
    /// `true` if two callers that open a new store at once create a store each.
    pub(crate) made_twice: bool,
    /// The largest number of rows in one call: small, like the limit of a store with small transactions.
    pub(crate) max_batch: usize,
}

/// No faults: every call goes to the store in memory.
impl Default for Faults {
    fn default() -> Self {
        Self {
            add: Call::new(|store, (pet, request)| async move {
                if store.notes.has_unique_names.load(Ordering::SeqCst) {
                    refuse_equal_names(&store, &pet).await?;
                }
                store.add(pet, request).await
            }),
            find: Call::new(|store, id| async move { store.find(id).await }),
            list: Call::new(|store, query| async move { store.list(query).await }),
            purge: Call::new(|store, (cutoff, limit)| async move {
                store.purge_expired(cutoff, limit).await
            }),
            load: Call::new(|store, unless| async move { store.load(unless).await }),
            load_changes: Call::new(|store, known| async move { store.load_changes(known).await }),
            save: Call::new(|store, (expected, changed, removed)| async move {
                store.save(expected, changed, removed).await
            }),
            note_uses: Call::new(|store, uses| async move { store.note_uses(uses).await }),
            snapshot: Call::new(|store, ()| async move { store.snapshot().await }),
            write_rows: Call::new(|store, (writer, rows)| async move {
                store.write_rows(writer, rows).await
            }),
            add_new: Call::new(|store, (pets, request)| async move {
                store.add_new(pets, request).await
            }),
            state: Call::new(|store, ()| async move { store.state().await }),
            change_state: Call::new(|store, (expected, new)| async move {
                store.change_state(expected, new).await
            }),
            answer: Box::new(|store, _, _| {
                if store.is_cut_off() { Answer::Unavailable } else { Answer::AsUsual }
            }),
            versions: |_, version| version,
            own_version: |_, version| version,
            reopened: None,
            made_twice: false,
            max_batch: 25,
        }
    }
}

/// Refuses an animal whose name another animal has, like a unique index.
pub(crate) async fn refuse_equal_names(
    store: &MemoryStore,
    pet: &NewPet,
) -> Result<(), StoreError> {
    let pets = store.snapshot().await?.pets(None, u32::MAX).await?;
    if pets.iter().any(|other| other.name == pet.name) {
        return Err(StoreError::refused("UNIQUE constraint failed: operator_rule"));
    }
    Ok(())
}

/// Creates a store with the rows of `store`, changed by `change`.
pub(crate) async fn copied(
    store: &MemoryStore,
    change: impl FnOnce(&mut Rows),
) -> Result<MemoryStore, StoreError> {
    let mut snapshot = store.snapshot().await?;
    let mut rows = Rows {
        pets: snapshot.pets(None, u32::MAX).await?,
        keys: snapshot.keys().await?,
        records: snapshot.records(None, u32::MAX).await?,
        highest: snapshot.highest_ids().await?,
    };
    change(&mut rows);
    let copy = MemoryStore::new();
    copy.write_rows(WriterRole::Service, rows).await.map_err(StoreError::unavailable)?;
    Ok(copy)
}
