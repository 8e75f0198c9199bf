//! The store and the model, driven by the same random commands.

use petstore_domain::{
    AddError, AddKeyError, Added, IdempotencyRequest, KeySelector, NewPet, RollKeyError,
};

use crate::{
    broken::{Checked, ensure, same},
    fresh::{Fresh, all},
    harness::{Harness, Store},
    model::{Command, KeyModel, Outcome, PetModel},
    random::{Random, SEED_VARIABLE, seed},
    samples::{self, MANY, at, by_name, key, key_name, query},
};

const STEPS: u16 = 400;
/// How long requests count in these runs, in milliseconds.
const LIFETIME: i64 = 20;

pub(super) async fn random_commands_do_as_the_model_does(harness: &dyn Harness) -> Checked {
    let fresh = Fresh::new(harness).await?;
    let seed = seed();
    let mut random = Random::new(seed);
    let mut run = Run {
        store: fresh.store.clone(),
        pets: PetModel::default(),
        keys: KeyModel::default(),
        now: 0,
    };
    for step in 0..STEPS {
        run.now += i64::from(random.below(4));
        let command = Command::choose(&mut random, step);
        let context = format!("{SEED_VARIABLE}={seed}, step {step}, {command:?}");
        run.step(command).await.map_err(|broken| broken.context(context))?;
    }
    Ok(())
}

/// A store, the model of it, and the time.
struct Run {
    store: Store,
    pets: PetModel,
    keys: KeyModel,
    now: i64,
}

impl Run {
    async fn step(&mut self, command: Command) -> Checked {
        match command {
            Command::Add { pet, key } => self.add(pet, key).await,
            Command::Find { number } => self.find(number).await,
            Command::List { limit, status, after } => {
                let after = after.map(|number| self.pets.some_id(number));
                let query = query(limit, status, after);
                let page = self.store.pets.list(query).await?.value;
                same("the page", &page, &self.pets.page(&query))
            }
            Command::Purge { age } => {
                let cutoff = at(self.now - LIFETIME + age);
                let purged = self.store.pets.purge_expired(cutoff, MANY).await?;
                same("purged", &purged, &self.pets.purge(cutoff))
            }
            Command::AddKey { seed, name, lifetime, max } => {
                self.add_key(seed, name, lifetime, max).await
            }
            Command::RollKey { seed, name, overlap, max } => {
                self.roll_key(seed, name, overlap, max).await
            }
            Command::RevokeName { name } => self.revoke(by_name(name)).await,
            Command::RevokeId { number } => {
                self.revoke(KeySelector::Id(self.keys.some_id(number))).await
            }
            Command::NoteUse { numbers, ago } => self.note_use(numbers, ago).await,
            Command::Keys { ahead } => self.compare_keys(self.now + ahead).await,
        }
    }

    async fn add(&mut self, pet: NewPet, key: Option<&str>) -> Checked {
        let request = key.map(|key| IdempotencyRequest {
            cutoff: at(self.now - LIFETIME),
            ..samples::request(key, &pet, self.now)
        });
        let expected = self.pets.outcome(request.as_ref());
        match self.store.pets.add(pet.clone(), request).await {
            Ok(Added::Created(added)) => {
                same("added", &Outcome::Created, &expected)?;
                same("the animal", &added, &pet.with_id(added.id))?;
                ensure!(Some(added.id) > self.pets.highest(), "{} is not above all", added.id);
                self.pets.add(added, request);
                Ok(())
            }
            Ok(Added::Replayed(found)) => same("a repeat", &Outcome::Replayed(found), &expected),
            Err(AddError::IdempotencyKeyReused) => same("refused", &Outcome::Reused, &expected),
            Err(error @ AddError::Store(_)) => Err(error.into()),
        }
    }

    async fn find(&self, number: u32) -> Checked {
        let id = self.pets.some_id(number);
        let found = self.store.pets.find(id).await?.map(|found| found.value);
        same(format!("the animal {id}"), &found, &self.pets.find(id))
    }

    async fn add_key(&mut self, seed: u16, name: &str, lifetime: Option<i64>, max: u32) -> Checked {
        let new = key(seed, name, self.now, lifetime.map(|lifetime| self.now + lifetime));
        let taken = self.keys.name_is_live(&new.name, at(self.now));
        let full = self.keys.is_full(at(self.now), max);
        match self.store.keys.add(new.clone(), max).await {
            Ok(added) => {
                ensure!(!taken && !full, "{added:?} was added: taken {taken}, full {full}");
                same("the key", &added, &new.with_id(added.id))?;
                ensure!(self.keys.is_above_all(added.id), "{:?} is not above all", added.id);
                self.keys.add(added);
                Ok(())
            }
            Err(AddKeyError::NameTaken) => same("whether the name is taken", &true, &taken),
            Err(AddKeyError::TooManyKeys(_)) => same("whether there are too many", &true, &full),
            Err(error @ AddKeyError::Store(_)) => Err(error.into()),
        }
    }

    async fn roll_key(&mut self, seed: u16, name: &str, overlap: i64, max: u32) -> Checked {
        let (new, retire_at) = (key(seed, name, self.now, None), at(self.now + overlap));
        let there = self.keys.name_is_live(&key_name(name), at(self.now));
        let full = self.keys.is_full(at(self.now), max);
        match self.store.keys.roll(new.clone(), retire_at, max).await {
            Ok(added) => {
                ensure!(there && !full, "{added:?} was rolled: live {there}, full {full}");
                same("the key", &added, &new.with_id(added.id))?;
                ensure!(self.keys.is_above_all(added.id), "{:?} is not above all", added.id);
                self.keys.roll(added, retire_at);
                Ok(())
            }
            Err(RollKeyError::NoSuchKey) => same("whether the name is live", &false, &there),
            Err(RollKeyError::TooManyKeys(_)) => same("whether there are too many", &true, &full),
            Err(error @ RollKeyError::Store(_)) => Err(error.into()),
        }
    }

    async fn revoke(&mut self, selector: KeySelector) -> Checked {
        let expected = self.keys.revoke(&selector, at(self.now));
        let revoked = self.store.keys.revoke(selector, at(self.now)).await?;
        same("revoked", &revoked, &expected)
    }

    async fn note_use(&mut self, numbers: [u32; 2], ago: i64) -> Checked {
        let uses = numbers.map(|number| (self.keys.some_id(number), at(self.now - ago)));
        for (id, at) in uses {
            self.keys.note_use(id, at);
        }
        Ok(self.store.keys.note_use(uses.to_vec()).await?)
    }

    async fn compare_keys(&self, now: i64) -> Checked {
        same("the keys", &self.store.keys.list().await?.into_all()?, self.keys.list())?;
        same(
            "the live keys",
            &self.store.keys.live(at(now)).await?.into_all()?,
            &self.keys.live(at(now)),
        )?;
        same("the animals", &all(&self.store).await?, &self.pets.all())
    }
}
