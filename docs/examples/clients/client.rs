//! Adds animals, reads all pages, and downloads a page again only if it has changed: `docs/CLIENTS.md` of petstore
//! explains each step. `BASE` and `KEY` are in the environment; needs reqwest with `blocking`, `json` and
//! `query`, serde, serde_json and fastrand. Prints the text after each =>.

use std::{env, error::Error, thread, time::Duration};

use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::header::{ETAG, IF_NONE_MATCH, LINK, RETRY_AFTER};
use serde::Deserialize;
use serde_json::json;

fn call(request: &RequestBuilder) -> Result<Response, Box<dyn Error>> {
    let mut attempt = 0;
    loop {
        let mut wait = fastrand::f64() * (0.2 * 2f64.powi(attempt)).min(10.0);
        match request.try_clone().ok_or("a body that cannot be sent twice")?.send() {
            Ok(answer) if ![408, 429, 503].contains(&answer.status().as_u16()) || attempt == 4 => {
                return Ok(answer);
            }
            Ok(answer) => {
                let after = answer.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
                wait += after.and_then(|after| after.parse().ok()).unwrap_or(0.0);
            }
            Err(failure) if attempt == 4 => return Err(failure.into()),
            Err(_) => {}
        }
        thread::sleep(Duration::from_secs_f64(wait));
        attempt += 1;
    }
}

#[derive(Debug, Deserialize)]
struct Refused {
    code: String, // not an enum: a later version may add codes
    message: String,
}

impl Error for Refused {}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

fn checked(answer: Response) -> Result<Response, Refused> {
    let status = answer.status();
    if status.as_u16() < 400 {
        return Ok(answer);
    }
    let other = Refused { code: format!("http_{}", status.as_u16()), message: status.to_string() };
    Err(answer.json().unwrap_or(other)) // a proxy may have answered
}

#[derive(Deserialize)]
struct Pet {
    name: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let http = Client::builder().timeout(Duration::from_secs(10)).build()?;
    let (pets, key) = (format!("{}/pets", env::var("BASE")?), env::var("KEY")?);

    let refused = checked(call(&http.get(&pets).bearer_auth(&key).query(&[("limit", 0)]))?);
    println!("{}", refused.err().ok_or("limit=0 was taken")?.code);
    // => invalid_query

    let once = format!("{:032x}", fastrand::u128(..));
    let rex = json!({"name": "Rex", "categoryId": 1, "status": "available"});
    let add = http.post(&pets).bearer_auth(&key).header("Idempotency-Key", once).json(&rex);
    let first = checked(call(&add)?)?;
    let second = checked(call(&add)?)?;
    let replayed = second.headers()["Idempotency-Replayed"].clone();
    println!("{} {}", replayed.to_str()?, first.text()? == second.text()?);
    // => true true

    for name in ["Mia", "Ada", "Bo", "Kit"] {
        let add = http.post(&pets).bearer_auth(&key).header("Idempotency-Key", name);
        checked(call(&add.json(&json!({"name": name, "categoryId": 2})))?)?;
    }

    let mut url = Some(reqwest::Url::parse(&format!("{pets}?limit=2"))?);
    let mut names = Vec::new();
    while let Some(this) = url {
        let page = checked(call(&http.get(this.clone()).bearer_auth(&key))?)?;
        let link = page.headers().get(LINK).and_then(|link| link.to_str().ok());
        let next = link.and_then(|link| link.strip_prefix('<')?.strip_suffix(">; rel=\"next\""));
        url = next.map(|next| this.join(next)).transpose()?;
        names.extend(page.json::<Vec<Pet>>()?.into_iter().map(|pet| pet.name));
    }
    println!("{names:?}");
    // => ["Rex", "Mia", "Ada", "Bo", "Kit"]

    let kept = checked(call(&http.get(&pets).bearer_auth(&key))?)?;
    let ask = http.get(&pets).bearer_auth(&key).header(IF_NONE_MATCH, &kept.headers()[ETAG]);
    println!("{}", call(&ask)?.status().as_u16());
    // => 304
    Ok(())
}
