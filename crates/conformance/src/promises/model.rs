//! The store and the model, driven by the same random commands.

use std::collections::BTreeMap;

use petstore_domain::{AddError, Added, ApiKey, IdempotencyRequest, NewPet};

use super::keys::{listed, loaded, note_uses, save};
use crate::{
    broken::{Checked, ensure, same},
    fresh::{Fresh, all, purge},
    harness::Store,
    model::{Command, KeyModel, Outcome, PetModel},
    random::{Random, SEED_VARIABLE, seed},
    samples::{self, MANY, at, key, query},
};

const STEPS: u16 = 400;
/// How long requests count in these runs, in milliseconds.
const LIFETIME: i64 = 20;

/// Contract: all of it together, by 400 random commands.
pub(super) async fn random_commands_do_as_the_model_does(fresh: Fresh) -> Checked {
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
                let purged = purge(&self.store, cutoff, MANY).await?;
                same("purged", &purged, &self.pets.purge(cutoff))
            }
            Command::AddKey { seed, name, lifetime } => self.add_key(seed, name, lifetime).await,
            Command::EndKey { number, expires, revoked } => {
                self.end_key(number, expires, revoked).await
            }
            Command::RemoveKey { number } => {
                let id = self.keys.some_id(number);
                self.keys.remove(id);
                save(&self.store, vec![], vec![id]).await
            }
            Command::NoteUse { numbers, ago } => self.note_use(numbers, ago).await,
            Command::Compare => {
                same("the keys", &listed(&self.store).await?, self.keys.list())?;
                same("the animals", &all(&self.store).await?, &self.pets.all())
            }
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

    async fn add_key(&mut self, seed: u16, name: &str, lifetime: Option<i64>) -> Checked {
        let new = key(seed, name, self.now, lifetime.map(|lifetime| self.now + lifetime));
        let id = loaded(&self.store).await?.next_id;
        ensure!(self.keys.is_above_all(id), "{id:?} is not above all");
        let new = new.with_id(id);
        save(&self.store, vec![new.clone()], vec![]).await?;
        self.keys.add(new);
        Ok(())
    }

    async fn end_key(
        &mut self,
        number: u32,
        expires: Option<i64>,
        revoked: Option<i64>,
    ) -> Checked {
        let Some(key) = self.keys.some_key(number) else { return Ok(()) };
        // As somebody writes it who has seen it before it ended.
        let [expires_at, revoked_at] =
            [expires, revoked].map(|ago| ago.map(|ago| at(self.now - ago)));
        let ended = ApiKey { expires_at, revoked_at, last_used_at: None, ..key.clone() };
        self.keys.end(&ended);
        save(&self.store, vec![ended], vec![]).await
    }

    async fn note_use(&mut self, numbers: [u32; 2], ago: i64) -> Checked {
        let keys = numbers.iter().filter_map(|&number| self.keys.some_key(number));
        let used = keys.map(|key| (key.id, self.now - ago)).collect::<BTreeMap<_, _>>();
        for (id, at) in &used {
            self.keys.note_use(*id, samples::at(*at));
        }
        let revision = loaded(&self.store).await?.revision;
        note_uses(&self.store, &used.into_iter().collect::<Vec<_>>()).await?;
        same("the keys after uses", &self.store.keys.load(Some(revision)).await?, &None)
    }
}
