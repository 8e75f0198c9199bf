use std::time::Duration;

use super::Core;
use crate::{
    config::EtcdConfig,
    draft::Changes,
    head::{Head, HeadRead},
    kv::{KeyValue, Op},
};

#[test]
fn a_writer_reads_the_needed_time_of_another_writer_but_not_its_own() {
    let config = EtcdConfig::parse("etcd://localhost/zoo").unwrap();
    let [loser, winner] = [(); 2].map(|()| Core::new(&config).unwrap());
    let needed = Duration::from_millis(1_234);
    let (head, entry) = (Head::new().unwrap(), KeyValue::default());
    let read = HeadRead { head, entry, revision: 1, found: Vec::new() };
    let txn = loser.txn(&read, Changes::new(), &[], needed);
    let [Op::Range(_), Op::Put { value, .. }] = &txn.failure[..] else { panic!("{txn:?}") };
    assert_eq!(winner.needed_by_other(&value.0), Some(needed));
    assert_eq!(loser.needed_by_other(&value.0), None);
}
