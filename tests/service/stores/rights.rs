//! A role of PostgreSQL with exactly the rights that docs/POSTGRES.md grants for serving.

use std::fs;

use petstore_testing::{Database, needs};

use crate::support::{
    catalogue::pet,
    command::petstore,
    server::{Launch, Server},
    store::Store,
};

/// A store in a schema of its own, and a role with the documented rights.
struct Granted {
    database: Database,
    role: String,
    /// The store URLs of the role and of the owner.
    clerk: Store,
    owner: Store,
    /// An API key of the store.
    key: String,
}

impl Granted {
    fn new(database: Database, grants: &str) -> Self {
        let role = format!("clerk_{}", std::process::id());
        let owner = Store::at(&format!("{}?schema=zoo", database.url));
        let key = owner.new_key("web");
        let address = database.url.split_once('@').unwrap().1.to_owned();
        let clerk = Store::at(&format!("postgres://{role}:secret@{address}?schema=zoo"));
        let granted = Self { database, role, clerk, owner, key };
        granted.sql("CREATE ROLE clerk LOGIN PASSWORD 'secret'");
        granted.sql(&grants.replace("SCHEMA public", "SCHEMA zoo"));
        granted
    }

    fn sql(&self, sql: &str) {
        let sql = sql.replace("clerk", &self.role);
        self.database.sql(&format!("SET search_path = zoo; {sql}")).unwrap();
    }

    /// Uses a service so that it needs every right. Returns whether everything works.
    fn works(&self, server: Server) -> bool {
        let client = server.client();
        let get = |path: &str| client.get(path).key(&self.key).send().status;
        let add = |key: &str| {
            let pet = client.add(&pet("Rex")).key(&self.key);
            pet.header("idempotency-key", key).send().status
        };
        // The idempotency key is new, because a repeat would need no right to insert.
        let once = format!("once-{}", server.pid());
        let statuses = [get("/v1/pets"), add(&once), add(&once), get("/v1/pets?status=sold")];
        let log = server.stop();
        statuses == [200, 201, 201, 200] && !log.contains("cannot store the last uses")
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        self.sql("DROP OWNED BY clerk; DROP ROLE clerk");
    }
}

#[needs(postgres)]
#[test]
fn a_role_serves_with_the_documented_rights_and_not_with_one_less() {
    let database = Database::create().unwrap();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/POSTGRES.md");
    let page = fs::read_to_string(page).unwrap();
    let mut blocks = page.split("```sql\n").filter_map(|block| block.split("```").next());
    let grants = blocks.find(|block| block.contains("GRANT SELECT ON petstore_schema")).unwrap();
    let granted = Granted::new(database, grants);
    let launch = || {
        // The service does not record a use of the key soon after the stored last use.
        granted.sql("UPDATE api_key SET last_used_at = NULL");
        Launch::without_key(&granted.clerk)
    };
    assert!(granted.works(launch().start()));
    let checked = petstore(&["check", "--store", &granted.clerk.url]).finish().succeeds();
    // The one warning is about the durability of the test server.
    assert_eq!(checked.matches("warning  ").count(), 1, "{checked}");

    let mut taken = 0;
    for grant in grants.trim_end().split(';').filter(|grant| grant.contains(" ON ")) {
        let (rights, objects) =
            grant.trim().strip_prefix("GRANT ").unwrap().split_once(" ON ").unwrap();
        if objects.contains("SCHEMA") {
            continue;
        }
        let objects = objects.strip_suffix(" TO clerk").unwrap();
        for object in objects.split(", ") {
            for right in rights.split(", ") {
                granted.sql(&format!("REVOKE {right} ON {object} FROM clerk"));
                let taken_right = format!("{right} ON {object}");
                let is_read_at_the_start = right == "SELECT"
                    && ["petstore_schema", "petstore_state", "api_key"].contains(&object);
                if is_read_at_the_start {
                    let refused = launch().finish();
                    assert_eq!(refused.code, Some(78), "{refused:?}");
                    let named = format!("permission denied for table {object}");
                    assert!(refused.stderr.contains(&named), "{taken_right}: {refused:?}");
                } else {
                    let server = launch().start();
                    assert!(!granted.works(server), "the service works without {taken_right}");
                }
                granted.sql(&format!("GRANT {right} ON {object} TO clerk"));
                taken += 1;
            }
        }
    }
    assert_eq!(taken, 11, "{grants}");
    granted.clerk.keys(&["create", "other"]).fails(1, "permission denied");
    granted.sql("GRANT INSERT, DELETE ON api_key TO clerk");
    granted.clerk.new_key("other");
    granted.sql("REVOKE SELECT ON pg_catalog.pg_index FROM PUBLIC");
    let unseen = petstore(&["check", "--store", &granted.clerk.url]).finish();
    unseen.fails(1, "permission denied for table pg_index");
    granted.sql("REVOKE USAGE ON SCHEMA zoo FROM clerk");
    let says = "there is no schema that this role may use";
    petstore(&["check", "--store", &granted.clerk.url])
        .finish()
        .fails(1, "no petstore store is in it");
    granted.clerk.keys(&["create", "third"]).fails(1, says);
    assert!(granted.works(Launch::without_key(&granted.owner).start()));
}
