//! Where pages of a catalogue begin: at its beginning, in its middle, near its end.

use crate::{
    catalogue::animal,
    client::Client,
    failure::{Failure, Outcome},
    random::Random,
    request::{Expect, Request},
    server::KEY,
    walk,
};

/// Animals of a page. Every page that is asked for has as many: a short one is cheaper.
const PAGE: usize = 20;

/// Where full pages begin, in the order of the catalogue.
#[derive(Debug)]
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
        let first = |filter: &str| vec![page(format!("/v1/pets?limit={PAGE}{filter}"))];
        match question {
            0 => first(""),
            1 => part(&self.all, 45),
            2 => part(&self.all, 89),
            3 => first("&status=sold"),
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

fn page(path: impl Into<String>) -> Request {
    Request::get(path, KEY, Expect::FullPage(PAGE))
}

/// A tenth of the places, from so many percent of them on, in no order.
fn part(places: &[String], percent: usize) -> Vec<Request> {
    let places = places.iter().skip(places.len() * percent / 100).take(places.len() / 10 + 1);
    let mut requests: Vec<_> = places.map(page).collect();
    Random::new().shuffle(&mut requests);
    requests
}

/// Full pages from many places of the catalogue on, found by walking along it in other steps.
fn places(client: &mut Client, animals: u64, filter: &str) -> Outcome<Vec<String>> {
    let step = usize::try_from(animals / 1000).unwrap_or(usize::MAX).clamp(1, 100);
    let found = walk::pages(client, step, filter)?;
    let full = full(&found, step);
    if full.is_empty() {
        return Err(Failure::new(format!(
            "a catalogue of {animals} animals is too small: of '/v1/pets?limit={PAGE}{filter}', no \
             page after the first has {PAGE} animals"
        )));
    }
    Ok(full.iter().map(|path| walk::with_limit(path, step, PAGE)).collect())
}

/// The places that at least a page of animals comes after. Each place has as many animals less
/// after it as a step is, and the last has at least one.
fn full<T>(places: &[T], step: usize) -> &[T] {
    let short = (PAGE - 1).div_ceil(step);
    &places[..places.len().saturating_sub(short)]
}

#[cfg(test)]
mod tests {
    use super::{PAGE, full};

    #[test]
    fn a_page_from_every_place_is_full() {
        for step in [1, 2, 19, 20, 100] {
            for animals in 1..500 {
                let places: Vec<usize> = (step..animals).step_by(step).collect();
                let full = full(&places, step);
                let after = |place: &usize| animals - place;
                assert!(full.iter().all(|place| after(place) >= PAGE), "{animals} by {step}");
                // At most one more is: where exactly the catalogue ends is not known.
                let enough = places.iter().filter(|place| after(place) >= PAGE).count();
                assert!(enough - full.len() <= 1, "{animals} by {step}");
            }
        }
    }
}
