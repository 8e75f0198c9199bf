use std::time::Duration;

use super::Core;
use crate::{client::Client, config::EtcdConfig, kv::Op};

#[test]
fn a_writer_reads_the_needed_time_of_another_writer_but_not_its_own() {
    let config = EtcdConfig::parse("etcd://localhost/zoo").unwrap();
    let [loser, winner] = [(); 2].map(|()| Core::new(Client::new(&config).unwrap(), "zoo/", false));
    let needed = Duration::from_millis(1_234);
    let Op::Put { value, .. } = loser.contend(needed) else { panic!("no entry is written") };
    assert_eq!(winner.needed_by_other(&value.0), Some(needed));
    assert_eq!(loser.needed_by_other(&value.0), None);
}
