//! Checks the list of a service against the history of its requests.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::journal::Entry;
use crate::support::catalogue::id_of;

/// Returns the faults of `list`, the complete and ordered list of a service, given its request history. The rules are:
///
/// - Every acknowledged animal is there once, with the values that were sent.
/// - Identifiers are unique and ascend, in the list and in time.
/// - An idempotency key has one animal, and each repeat returns that animal.
/// - Any other animal comes from an addition in doubt, which had no answer or a refusal.
pub(crate) fn faults(history: &[Entry], list: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    for pair in list.windows(2).filter(|pair| id_of(&pair[0]) >= id_of(&pair[1])) {
        faults.push(format!("{} is listed before {}", pair[0], pair[1]));
    }
    let acknowledged = acknowledged(history, &mut faults);
    keys_have_one_animal(history, &mut faults);
    identifiers_ascend_in_time(history, &mut faults);
    let listed: BTreeMap<i64, &Value> = list.iter().map(|pet| (id_of(pet), pet)).collect();
    for (id, pet) in &acknowledged {
        match listed.get(id) {
            None => faults.push(format!("{pet} is lost")),
            Some(found) if found != pet => faults.push(format!("{pet} has become {found}")),
            Some(_) => {}
        }
    }
    let mut doubts = doubts(history);
    for pet in list.iter().filter(|pet| !acknowledged.contains_key(&id_of(pet))) {
        match doubts.get_mut(&values(pet)) {
            Some(left @ 1..) => *left -= 1,
            Some(_) => faults.push(format!("{pet} was added once too often")),
            None => faults.push(format!("nobody added {pet}")),
        }
    }
    faults
}

/// Returns the acknowledged animals. Reports each animal that differs from the sent animal, or that has the identifier
/// of another addition.
fn acknowledged<'h>(history: &'h [Entry], faults: &mut Vec<String>) -> BTreeMap<i64, &'h Value> {
    let mut acknowledged = BTreeMap::new();
    let mut keys = HashMap::new();
    for (entry, addition, pet) in acknowledgements(history) {
        if values(&addition.pet) != values(pet) {
            faults.push(format!("{} was acknowledged as {pet}", addition.pet));
        }
        let other = acknowledged.insert(id_of(pet), pet);
        let key = keys.insert(id_of(pet), &addition.key);
        if other.is_some() && (key != Some(&addition.key) || addition.key.is_none()) {
            faults.push(format!("{pet} has an identifier that was acknowledged before: {entry:?}"));
        }
    }
    acknowledged
}

fn keys_have_one_animal(history: &[Entry], faults: &mut Vec<String>) {
    let (mut animals, mut created) = (HashMap::new(), HashSet::new());
    for (entry, addition, pet) in acknowledgements(history) {
        let Some(key) = &addition.key else { continue };
        let first = *animals.entry(key).or_insert(pet);
        if first != pet {
            faults.push(format!("the key {key} was answered by {first} and later by {pet}"));
        }
        if !entry.replayed && !created.insert(key) {
            faults.push(format!("the key {key} has added {pet} twice"));
        }
    }
}

/// Reports each addition that began after another was acknowledged, but has no higher identifier.
fn identifiers_ascend_in_time(history: &[Entry], faults: &mut Vec<String>) {
    let created = acknowledgements(history).filter(|(entry, ..)| !entry.replayed);
    let mut by_start: Vec<_> = created.map(|(entry, _, pet)| (entry, pet)).collect();
    let mut by_end = by_start.clone();
    by_start.sort_by_key(|(entry, _)| entry.began);
    by_end.sort_by_key(|(entry, _)| entry.ended);
    let (mut ended, mut highest) = (by_end.into_iter().peekable(), i64::MIN);
    for (entry, pet) in by_start {
        while let Some((_, before)) = ended.next_if(|(other, _)| other.ended < entry.began) {
            highest = highest.max(id_of(before));
        }
        if id_of(pet) <= highest {
            faults.push(format!("{pet} was added after animal {highest}, but its id is no higher"));
        }
    }
}

/// Counts the additions in doubt of each animal that was sent; 0 if its additions were acknowledged.
fn doubts(history: &[Entry]) -> HashMap<String, usize> {
    let acknowledged =
        acknowledgements(history).filter_map(|(_, addition, _)| addition.key.as_ref());
    let mut known: HashSet<&String> = acknowledged.collect();
    let mut doubts = HashMap::new();
    for entry in history {
        let Some(addition) = &entry.addition else { continue };
        let left = doubts.entry(values(&addition.pet)).or_default();
        let is_first = addition.key.as_ref().is_none_or(|key| known.insert(key));
        *left += usize::from(is_first && entry.added.is_none());
    }
    doubts
}

fn acknowledgements(
    history: &[Entry],
) -> impl Iterator<Item = (&Entry, &super::journal::Addition, &Value)> {
    history
        .iter()
        .filter_map(|entry| Some((entry, entry.addition.as_ref()?, entry.added.as_ref()?)))
}

/// Returns the values of an animal without its identifier, as text.
fn values(pet: &Value) -> String {
    format!("{} {} {}", pet["name"], pet["categoryId"], pet["status"])
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};

    use super::faults;
    use crate::load::journal::{Addition, Entry};

    /// Returns the history and the list of four additions. The second addition has a key and was sent twice. The last
    /// addition is in doubt.
    fn history() -> (Vec<Entry>, Vec<Value>) {
        let start = Instant::now();
        let (mut history, mut list) = (Vec::new(), Vec::new());
        for (number, id) in [(0, 1), (1, 2), (1, 2), (2, 5), (3, 6)] {
            let addition = Addition::new(&format!("n{number}"), number, number == 1);
            let mut pet = addition.pet.clone();
            pet["id"] = id.into();
            let time = |part| start + Duration::from_secs(2 * history.len() as u64 + part);
            let (began, ended) = (time(0), time(1));
            let mut entry = Entry::acknowledged(addition, pet.clone());
            (entry.began, entry.ended, entry.replayed) = (began, ended, list.contains(&pet));
            history.push(entry);
            if !list.contains(&pet) {
                list.push(pet);
            }
        }
        (history[4].status, history[4].added) = (503, None);
        (history, list)
    }

    /// A change of the history and the list.
    type Change = fn(&mut Vec<Entry>, &mut Vec<Value>);

    /// Adds a copy of an animal to the end of the list, with the identifier `id`.
    fn again(list: &mut Vec<Value>, from: usize, id: i64) {
        let mut pet = list[from].clone();
        pet["id"] = id.into();
        list.push(pet);
    }

    #[test]
    fn a_correct_history_has_no_fault_whether_or_not_additions_in_doubt_were_written() {
        let (history, mut list) = history();
        assert_eq!(faults(&history, &list), [""; 0]);
        list.pop();
        assert_eq!(faults(&history, &list), [""; 0]);
    }

    #[test]
    fn each_fault_is_found() {
        let changes: [(&str, Change); 14] = [
            ("is lost", |_, list| drop(list.remove(1))),
            ("once too often", |_, list| again(list, 0, 7)),
            // The animal copied here was added with a key. The next row copies an animal from an addition in doubt.
            ("once too often", |_, list| again(list, 1, 7)),
            ("once too often", |_, list| again(list, 3, 7)),
            ("is listed before", |_, list| again(list, 3, 6)),
            ("is listed before", |_, list| list.swap(0, 1)),
            ("has become", |_, list| list[2]["name"] = "changed".into()),
            ("has become", |_, list| list[0]["status"] = "sold".into()),
            ("was acknowledged as", |history, list| {
                list[0]["categoryId"] = 9.into();
                history[0].added = Some(list[0].clone());
            }),
            // The list is ordered by identifier, but the identifiers do not ascend in time.
            ("was added after animal", |history, list| {
                (list[0]["id"], history[0].added.as_mut().unwrap()["id"]) = (4.into(), 4.into());
                list.swap(0, 1);
            }),
            ("nobody added", |_, list| {
                list.insert(2, json!({"id": 3, "name": "stranger", "categoryId": 1}));
            }),
            ("was answered by", |history, _| {
                history[2].added.as_mut().unwrap()["id"] = 5.into();
            }),
            ("has added", |history, _| history[2].replayed = false),
            ("acknowledged before", |history, list| {
                history[3].added.as_mut().unwrap()["id"] = 1.into();
                list[2]["id"] = 1.into();
            }),
        ];
        for (what, change) in changes {
            let (mut history, mut list) = history();
            change(&mut history, &mut list);
            let found = faults(&history, &list);
            assert!(found.iter().any(|fault| fault.contains(what)), "{what}: {found:?}");
        }
    }
}
