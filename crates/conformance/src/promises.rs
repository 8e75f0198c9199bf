//! The list of the promises.

mod batches;
mod beside;
mod declared;
mod dropped;
mod durability;
mod expiry;
mod handover;
mod idempotency;
mod identifiers;
mod key_saves;
mod keys;
mod model;
mod outage;
mod pages;
mod races;
mod round_trips;
mod snapshots;
mod together;
mod version;
mod writes;

use std::pin::Pin;

use crate::{
    broken::Checked,
    harness::{Capability, Harness},
};

/// One promise of the contract.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// Its name, a fact: also the name of its test.
    pub name: &'static str,
    /// What it is about.
    pub subject: &'static str,
    /// The words of the contract.
    pub words: &'static str,
    /// What an adapter must have for it to be checked.
    pub needs: &'static [Capability],
    pub(crate) check: Check,
}

type Outcome<'a> = Pin<Box<dyn Future<Output = Checked> + Send + 'a>>;
pub(crate) type Check = fn(&dyn Harness) -> Outcome<'_>;

/// Hands every promise to the macro `$then`, behind the tokens `$with`:
/// `subject::name [what it needs] "the words of the contract"`.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_promise {
    ($then:ident! { $($with:tt)* }) => { $crate::$then! { { $($with)* }
        declared::what_is_declared_unsupported_is_not_there []
            "what a harness declares unsupported is not there";

        round_trips::a_fresh_store_is_empty []
            "a new store holds no animal and no key";
        round_trips::a_name_comes_back_as_it_was_given []
            "values come back exactly as they were given: names, to 255 characters of four bytes";
        round_trips::a_category_comes_back_as_it_was_given []
            "values come back exactly as they were given: any int64 as category";
        round_trips::a_status_comes_back_and_none_is_made_up []
            "values come back exactly as they were given: each status, and none at all";

        identifiers::an_identifier_never_assigned_names_no_animal []
            "the animal `id`, or None if there is none";
        identifiers::identifiers_grow_and_none_is_assigned_twice []
            "identifiers grow in the order of acknowledgement, and none is assigned twice";
        identifiers::identifiers_go_on_growing_after_reopening [Reopen]
            "identifiers grow in the order of acknowledgement, and none is assigned twice";

        pages::a_page_has_its_limit_in_ascending_order []
            "the animals that match, ascending by identifier, at most query.limit";
        pages::more_is_true_exactly_if_another_follows []
            "and whether at least one more matches behind them";
        pages::a_page_past_the_end_is_empty []
            "the animals whose identifier is greater than query.after";
        pages::a_walk_meets_what_was_there_exactly_once []
            "a walk yields every animal that existed when it began exactly once";
        pages::ten_thousand_animals_walk_out_as_they_went_in []
            "a walk yields every animal that existed when it began exactly once";

        idempotency::a_repeat_gets_the_first_animal_and_adds_nothing []
            "with the same fingerprint the answer is Added::Replayed, and nothing is added";
        idempotency::a_key_used_for_another_animal_is_refused []
            "IdempotencyKeyReused if such a record has another fingerprint";
        idempotency::ids_that_differ_in_any_bit_are_two_records []
            "the record that is stored under the request's id";
        idempotency::sixty_four_tasks_with_one_key_add_one_animal []
            "requests that run at the same time add one animal between them";
        idempotency::two_handles_with_one_key_add_one_animal [SecondHandle]
            "requests that run at the same time add one animal between them";
        idempotency::of_different_animals_under_one_key_one_is_added []
            "requests that run at the same time add one animal between them";
        expiry::a_record_counts_until_exactly_its_expiry []
            "a record counts that is younger than request.cutoff";
        expiry::an_expired_record_is_replaced_by_a_new_one []
            "an expired record is replaced";
        expiry::purging_keeps_to_its_limit_and_its_cutoff []
            "deletes up to `limit` records made at `cutoff` or before; how many were deleted";

        together::an_animal_and_its_record_appear_together [Archive]
            "adds an animal and, in the same transaction, its idempotency record";

        durability::every_later_read_sees_an_acknowledged_animal []
            "what has been acknowledged, every later read sees";
        durability::another_handle_sees_what_was_acknowledged [SecondHandle]
            "what has been acknowledged, every later read sees";
        durability::reopening_keeps_every_animal [Reopen]
            "what has been acknowledged is durable";
        durability::reopening_keeps_every_record [Reopen]
            "what has been acknowledged is durable";
        durability::reopening_keeps_every_key [Reopen]
            "what has been acknowledged is durable";
        dropped::a_dropped_addition_happens_whole_or_not_at_all []
            "whole or not at all, also when the future is dropped half way";

        version::a_read_carries_the_version_of_what_it_saw [Version]
            "two reads that carry the same version saw the same state";
        version::a_version_never_comes_back [Version]
            "a version never comes back for another state";
        version::no_version_comes_back_after_reopening [Version, Reopen]
            "a version never comes back for another state, restarts included";
        races::reads_under_one_version_are_equal [Version]
            "two reads that carry the same version saw the same state";
        races::reads_of_two_handles_under_one_version_are_equal [Version, SecondHandle]
            "two reads that carry the same version saw the same state";
        races::an_addition_elsewhere_changes_the_version_within_100_ms [Version, SecondHandle]
            "an addition by anybody else on the same store changes the version within 100 ms";

        keys::a_key_comes_back_as_it_was_given []
            "values come back exactly as they were given";
        keys::a_key_that_may_only_read_stays_one []
            "values come back exactly as they were given: the prefix too, which says a key's rights";
        keys::every_key_is_listed_in_order_live_or_not []
            "every key, live or not, ascending by identifier";
        keys::nothing_is_loaded_that_has_not_changed []
            "None if the revision is still `unless`";
        keys::no_identifier_of_a_key_is_assigned_twice []
            "no identifier is assigned twice, also when its key was removed";
        keys::a_save_takes_a_hundred_keys []
            "at most MAX_KEYS_PER_SAVE of `changed` and `removed` together";
        keys::a_digest_stored_already_is_not_stored_again []
            "the digests of two keys differ; a save is atomic";
        key_saves::the_revision_changes_exactly_with_the_keys []
            "every change of keys gives the list another revision, and a use gives it none";
        key_saves::no_two_stores_have_one_revision []
            "a revision never comes again, in no other store either";
        key_saves::a_save_over_other_keys_is_lost []
            "writes and removes keys if the revision is still `expected`";
        key_saves::no_save_undoes_a_revocation_or_a_use []
            "of a key that is there, it becomes what both say";
        key_saves::the_latest_use_is_kept []
            "passes over an unknown identifier, and a time before the one already noted";
        key_saves::of_saves_over_one_revision_one_is_kept []
            "writes and removes keys if the revision is still `expected`";
        key_saves::of_saves_of_two_handles_one_is_kept [SecondHandle]
            "writes and removes keys if the revision is still `expected`";
        key_saves::keys_added_at_the_same_time_are_all_there []
            "what has been acknowledged, every later read sees";
        key_saves::keys_added_by_two_handles_are_all_there [SecondHandle]
            "what has been acknowledged, every later read sees";

        outage::an_unreachable_store_is_unavailable_in_time [Outage]
            "a store that cannot answer is StoreError within a bounded time";
        outage::it_comes_back_by_itself_with_all_it_had [Outage]
            "and answers again by itself once it can";
        outage::a_retry_after_an_outage_adds_one_animal [Outage]
            "an addition happens whole or not at all";

        model::random_commands_do_as_the_model_does []
            "all of it together, by 400 random commands";

        snapshots::a_snapshot_holds_all_in_ordered_batches [Archive]
            "a view of all that is in the store, in batches in ascending order";
        snapshots::a_snapshot_does_not_see_later_writes [Archive]
            "what is written later does not show in it, and it holds up no writer";
        batches::a_batch_brings_back_every_field [Archive]
            "writes a batch: it is visible and durable, at once, when the call returns";
        batches::a_batch_may_be_written_again [Archive]
            "an equal row that is there already is kept";
        batches::a_batch_takes_as_many_rows_as_the_store_says [Archive]
            "how many rows one batch may have; new animals ascend in their order";
        batches::a_repeated_batch_adds_nothing [Archive]
            "if the batch of new animals is a repeat, none of them is added";
        batches::of_equal_batches_at_once_one_is_added [Archive]
            "if the batch of new animals is a repeat, none of them is added";
        batches::a_key_that_is_there_already_is_merged [Archive]
            "a key that is there already becomes what both stores know of it";
        batches::a_batch_names_what_it_conflicts_with [Archive]
            "what is there and different is a conflict, which says what; nothing was written then";
        batches::a_newer_record_replaces_the_one_there [Archive]
            "a record that is there already is replaced if it is older";
        batches::another_record_that_is_not_newer_is_a_conflict [Archive]
            "a conflict if another record is there that is as old, or younger";
        batches::a_record_without_its_animal_is_refused [Archive]
            "Corrupt if the animal of a record is missing";
        batches::identifiers_go_on_above_those_of_a_batch [Archive]
            "afterwards the store assigns identifiers above every one of the batch, and above assign_above";

        writes::a_write_shows_in_every_list_and_changes_nothing_else []
            "the animals that match the query's status, whatever kind of write they came by";
        writes::the_version_changes_exactly_if_an_animal_does [Version]
            "the version changes with every change of animals, and with nothing else";
        beside::another_animal_is_never_overwritten [Archive]
            "OtherPet if another animal has the identifier, and nothing of the batch is written";
        beside::a_batch_shows_as_a_whole_on_every_handle [Archive]
            "a batch is one transaction: nothing of it shows without all the rest";
        beside::writers_go_on_beside_batches [Archive]
            "writers beside a batch wait for no more than that batch";
        beside::no_identifier_follows_the_highest [Archive]
            "behind the highest identifier possible nothing is added, and reads go on";
        beside::the_version_is_answered_at_once [Version]
            "without a call to the store that takes long";

        handover::a_store_that_is_not_open_refuses_everything [Handover]
            "a write of a service to a store that is not open fails and has no effect";
        handover::a_sealed_store_is_read_by_who_asks_for_it [Handover]
            "lets reads through this handle go on while the store is sealed";
        handover::a_state_changes_by_its_revision_alone [Handover]
            "replaces the state if the stored revision is `expected`";
        handover::nothing_is_added_after_a_seal [Handover]
            "a change of the state waits for writes under way";
        handover::changes_are_complete [Handover, SecondHandle]
            "no animal appears later at or below the last of them";
        handover::a_mover_writes_to_what_it_fills_alone [Handover, Archive]
            "a batch of the mover is refused unless the store is filling at its revision";
        handover::every_change_but_an_addition_is_a_rewrite [Handover, Archive]
            "how often animals were changed otherwise than by adding one";
    } };
}

/// Makes the table of the promises out of the list.
#[doc(hidden)]
#[macro_export]
macro_rules! __promise_table {
    ({} $($subject:ident :: $name:ident [$($need:ident),*] $words:literal;)*) => {
        /// Every promise, in the order in which they are checked.
        pub static PROMISES: &[Promise] = &[$(Promise {
            name: stringify!($name),
            subject: stringify!($subject),
            words: $words,
            needs: &[$(Capability::$need),*],
            check: |harness| Box::pin($subject::$name(harness)),
        }),*];
    };
}

__for_each_promise! { __promise_table! {} }
