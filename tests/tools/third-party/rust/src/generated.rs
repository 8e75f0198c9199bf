//! Calls a live service with the client that progenitor has generated.

use std::{env, num::NonZero};

use petstore::{Client, Error, types};
use reqwest::header::{AUTHORIZATION, HeaderMap, LINK};

#[allow(dead_code, unused_imports, clippy::all)]
mod petstore {
    include!(concat!(env!("OUT_DIR"), "/petstore.rs"));
}

fn bearing(key: &str) -> Client {
    let headers = HeaderMap::from_iter([(AUTHORIZATION, format!("Bearer {key}").parse().unwrap())]);
    let http = reqwest::Client::builder().default_headers(headers).build().unwrap();
    Client::new_with_client(&env::var("BASE").unwrap(), http)
}

fn named(name: &str) -> types::NewPet {
    let status = Some(types::PetStatus::Available);
    types::NewPet { name: name.parse().unwrap(), category_id: 7, status }
}

/// Walks the list by its links, two animals per page. Returns all pages.
async fn pages(client: &Client) -> Vec<Vec<types::Pet>> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let (limit, status) = (NonZero::new(2), Some(types::PetStatus::Available));
        let page = client.list_pets(cursor.as_ref(), limit, status, None, None).await.unwrap();
        let link = page.headers().get(LINK).map(|link| link.to_str().unwrap().to_owned());
        found.push(page.into_inner().0);
        let Some(link) = link else { return found };
        let (_, rest) = link.split_once("cursor=").unwrap();
        cursor = Some(rest.split(['&', '>']).next().unwrap().parse().unwrap());
    }
}

fn code_and_status(error: Error<types::Error>) -> (types::ErrorCode, i32) {
    match error {
        Error::ErrorResponse(response) => (response.code, response.status),
        other => panic!("no `Error` of the document: {other}"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let client = bearing(&env::var("KEY").unwrap());
    let mut created = Vec::new();
    for name in ["Rex", "Mia", "Olé 🐢", "Ada", "Bo"] {
        let pet = client.create_pet(None, None, &named(name)).await.unwrap().into_inner();
        assert_eq!((pet.name.as_str(), pet.category_id), (name, 7));
        created.push(pet.id);
    }
    let walked = pages(&client).await;
    assert_eq!(walked.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(walked.iter().flatten().map(|pet| pet.id).collect::<Vec<_>>(), created);

    // The generated types refuse a forbidden value. The service refuses an invented cursor.
    assert!(" ".parse::<types::NewPetName>().is_err());
    let invented = "invented".parse().unwrap();
    let refused = client.list_pets(Some(&invented), None, None, None, None).await.unwrap_err();
    assert_eq!(code_and_status(refused), (types::ErrorCode::InvalidQuery, 400));

    let stranger = bearing("no-such-key");
    let unknown = stranger.list_pets(None, None, None, None, None).await.unwrap_err();
    assert_eq!(code_and_status(unknown), (types::ErrorCode::Unauthorized, 401));
    println!("rust: created 5, walked 3 pages, read a 400 and a 401");
}
