//! Where pages of a catalogue begin: at its beginning, in its middle, near its end.

use crate::{
    catalogue::animal,
    client::Client,
    failure::Outcome,
    random::Random,
    request::{Expect, Request},
    server::KEY,
    walk,
};

/// Where pages begin, in the order of the catalogue.
pub(super) struct Places {
    all: Vec<String>,
    sold: Vec<String>,
    animals: u64,
}

impl Places {
    /// Finds them by walking along the pages.
    pub(super) fn find(client: &mut Client, animals: u64) -> Outcome<Self> {
        let all = places(client, animals, "")?;
        Ok(Self { all, sold: places(client, animals, "&status=sold")?, animals })
    }

    /// Requests for the question of a number.
    pub(super) fn requests(&self, question: usize) -> Vec<Request> {
        let first = |path: &str| vec![Request::get(path, KEY, Expect::Page(20))];
        match question {
            0 => first("/v1/pets?limit=20"),
            1 => part(&self.all, 45),
            2 => part(&self.all, 89),
            3 => first("/v1/pets?limit=20&status=sold"),
            4 => part(&self.sold, 45),
            5 => part(&self.sold, 89),
            6 => {
                let step = usize::try_from(1 + self.animals / 10_000).unwrap_or(usize::MAX);
                let ids = (1..=self.animals).step_by(step);
                let mut requests: Vec<_> = ids
                    .map(|id| Request::get(format!("/v1/pets/{id}"), KEY, Expect::Pet))
                    .collect();
                Random::new().shuffle(&mut requests);
                requests
            }
            _ => (0..100).map(|number| Request::create(animal(number), KEY)).collect(),
        }
    }
}

/// A tenth of the places, from so many percent of them on, in no order.
fn part(places: &[String], percent: usize) -> Vec<Request> {
    let places = places.iter().skip(places.len() * percent / 100).take(places.len() / 10 + 1);
    let page = |path: &String| Request::get(path, KEY, Expect::Page(20));
    let mut requests: Vec<_> = places.map(page).collect();
    Random::new().shuffle(&mut requests);
    requests
}

/// Pages of 20 from many places of the catalogue on, found by walking along it in other steps.
fn places(client: &mut Client, animals: u64, filter: &str) -> Outcome<Vec<String>> {
    let step = usize::try_from(animals / 1000).unwrap_or(usize::MAX).clamp(1, 100);
    let found = walk::pages(client, step, filter)?;
    Ok(found.iter().map(|path| walk::with_limit(path, step, 20)).collect())
}
