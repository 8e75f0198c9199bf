//! Upgrades that are cut off by a kill.

use std::{fs, thread, time::Duration};

use super::old::{self, Old};
use crate::support::{
    command::petstore,
    store::{Store, is_sound},
};

/// Adds enough animals that an upgrade takes some time.
const MORE: &str = "WITH RECURSIVE n (i) AS (SELECT 2000000 UNION ALL SELECT i + 1 FROM n WHERE i < 2020000) \
     INSERT INTO pet (id, name, category_id, status) SELECT i, 'animal ' || i, 1, 'sold' FROM n";

/// Returns the current version of the store's schema.
fn version(store: &Store) -> String {
    let said = petstore(&["upgrade", "--dry-run", "--store", &store.url]).finish().succeeds();
    let number = said.split("version ").nth(1).unwrap();
    number.chars().take_while(char::is_ascii_digit).collect()
}

#[petstore_testing::needs(time)]
#[test]
fn a_killed_upgrade_is_complete_or_changes_nothing() {
    let old = Old::sqlite(&old::releases()[0]);
    old.store.damage(MORE);
    let whole = fs::read(old.store.file()).unwrap();
    let mut seen = Vec::new();
    let mut delay = Duration::ZERO;
    // Repeats until an upgrade ends before its kill.
    loop {
        fs::write(old.store.file(), &whole).unwrap();
        let mut upgrade = petstore(&["upgrade", "--store", &old.store.url]).spawn();
        thread::sleep(delay);
        let ended = upgrade.try_wait().unwrap().is_some();
        upgrade.kill().unwrap();
        upgrade.wait().unwrap();
        seen.push(version(&old.store));
        petstore(&["upgrade", "--store", &old.store.url]).finish().succeeds();
        is_sound(&old.store.file());
        assert_eq!(old.store.pets(), old.animals.lines().count() + 20_001, "{delay:?}");
        for entry in fs::read_dir(old.store.folder()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(
                ["petstore.db", "petstore.db.before-upgrade"].contains(&name.as_str()),
                "{name}"
            );
        }
        if ended {
            break;
        }
        // The delay grows by at least a fifth, because an upgrade takes seconds on a slow machine.
        delay = (delay + Duration::from_millis(25)).max(delay * 6 / 5);
    }
    let animals = petstore(&["export", "--store", &old.store.url]).finish().succeeds();
    assert!(animals.starts_with(&old.animals));
    assert_eq!((seen[0].as_str(), seen.last().unwrap().as_str()), ("7", "10"), "{seen:?}");
    // On a machine of varying speed, a kill after a longer delay may still find the old version.
    assert!(seen.iter().all(|version| ["7", "10"].contains(&version.as_str())), "{seen:?}");
    assert!(seen.len() > 3, "{seen:?}");
}
