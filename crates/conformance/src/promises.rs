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

use crate::{broken::Checked, fresh::Fresh, harness::Capability};

/// One promise of the contract.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// Its name, a fact: also the name of its test.
    pub name: &'static str,
    /// What an adapter must have for it to be checked.
    pub needs: &'static [Capability],
    pub(crate) check: Check,
}

type Outcome = Pin<Box<dyn Future<Output = Checked> + Send>>;
pub(crate) type Check = fn(Fresh) -> Outcome;

/// Hands every promise to the macro `$then`, behind the tokens `$with`:
/// `subject::name [what it needs];`. The words of the contract stand above the function.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_promise {
    ($then:ident! { $($with:tt)* }) => { $crate::$then! { { $($with)* }
        declared::what_is_declared_unsupported_is_not_there [];

        round_trips::a_fresh_store_is_empty [];
        round_trips::a_name_comes_back_as_it_was_given [];
        round_trips::a_category_comes_back_as_it_was_given [];
        round_trips::a_status_comes_back_and_none_is_made_up [];

        identifiers::an_identifier_never_assigned_names_no_animal [];
        identifiers::identifiers_grow_and_none_is_assigned_twice [];
        identifiers::identifiers_go_on_growing_after_reopening [Reopen];

        pages::a_page_has_its_limit_in_ascending_order [];
        pages::more_is_true_exactly_if_another_follows [];
        pages::a_page_past_the_end_is_empty [];
        pages::a_walk_meets_what_was_there_exactly_once [];
        pages::ten_thousand_animals_walk_out_as_they_went_in [];

        idempotency::a_repeat_gets_the_first_animal_and_adds_nothing [];
        idempotency::a_key_used_for_another_animal_is_refused [];
        idempotency::ids_that_differ_in_any_bit_are_two_records [];
        idempotency::sixty_four_tasks_with_one_key_add_one_animal [];
        idempotency::two_handles_with_one_key_add_one_animal [SecondHandle];
        idempotency::of_different_animals_under_one_key_one_is_added [];
        expiry::a_record_counts_until_exactly_its_expiry [];
        expiry::an_expired_record_is_replaced_by_a_new_one [];
        expiry::purging_keeps_to_its_limit_and_its_cutoff [];

        together::an_animal_and_its_record_appear_together [Archive];

        durability::every_later_read_sees_an_acknowledged_animal [];
        durability::another_handle_sees_what_was_acknowledged [SecondHandle];
        durability::reopening_keeps_every_animal [Reopen];
        durability::reopening_keeps_every_record [Reopen];
        durability::reopening_keeps_every_key [Reopen];
        dropped::a_dropped_addition_happens_whole_or_not_at_all [];

        version::a_read_carries_the_version_of_what_it_saw [Version];
        version::a_version_never_comes_back [Version];
        version::no_version_comes_back_after_reopening [Version, Reopen];
        races::reads_under_one_version_are_equal [Version];
        races::reads_of_two_handles_under_one_version_are_equal [Version, SecondHandle];
        races::an_addition_elsewhere_changes_the_version_within_100_ms [Version, SecondHandle];

        keys::a_key_comes_back_as_it_was_given [];
        keys::a_key_that_may_only_read_stays_one [];
        keys::every_key_is_listed_in_order_live_or_not [];
        keys::nothing_is_loaded_that_has_not_changed [];
        keys::no_identifier_of_a_key_is_assigned_twice [];
        keys::a_save_takes_a_hundred_keys [];
        keys::a_digest_stored_already_is_not_stored_again [];
        key_saves::the_revision_changes_exactly_with_the_keys [];
        key_saves::no_two_stores_have_one_revision [];
        key_saves::a_save_over_other_keys_is_lost [];
        key_saves::no_save_undoes_a_revocation_or_a_use [];
        key_saves::the_latest_use_is_kept [];
        key_saves::of_saves_over_one_revision_one_is_kept [];
        key_saves::of_saves_of_two_handles_one_is_kept [SecondHandle];
        key_saves::keys_added_at_the_same_time_are_all_there [];
        key_saves::keys_added_by_two_handles_are_all_there [SecondHandle];

        outage::an_unreachable_store_is_unavailable_in_time [Outage];
        outage::it_comes_back_by_itself_with_all_it_had [Outage];
        outage::a_retry_after_an_outage_adds_one_animal [Outage];

        model::random_commands_do_as_the_model_does [];

        snapshots::a_snapshot_holds_all_in_ordered_batches [Archive];
        snapshots::a_snapshot_does_not_see_later_writes [Archive];
        batches::a_batch_brings_back_every_field [Archive];
        batches::a_batch_may_be_written_again [Archive];
        batches::a_batch_takes_as_many_rows_as_the_store_says [Archive];
        batches::a_repeated_batch_adds_nothing [Archive];
        batches::of_equal_batches_at_once_one_is_added [Archive];
        batches::a_key_that_is_there_already_is_merged [Archive];
        batches::a_batch_names_what_it_conflicts_with [Archive];
        batches::a_newer_record_replaces_the_one_there [Archive];
        batches::another_record_that_is_not_newer_is_a_conflict [Archive];
        batches::a_record_without_its_animal_is_refused [Archive];
        batches::identifiers_go_on_above_those_of_a_batch [Archive];

        writes::a_write_shows_in_every_list_and_changes_nothing_else [];
        writes::the_version_changes_exactly_if_an_animal_does [Version];
        beside::another_animal_is_never_overwritten [Archive];
        beside::a_batch_shows_as_a_whole_on_every_handle [Archive];
        beside::writers_go_on_beside_batches [Archive];
        beside::no_identifier_follows_the_highest [Archive];
        beside::the_version_is_answered_at_once [Version];

        handover::a_store_that_is_not_open_refuses_everything [Handover];
        handover::a_sealed_store_is_read_by_who_asks_for_it [Handover];
        handover::a_state_changes_by_its_revision_alone [Handover];
        handover::nothing_is_added_after_a_seal [Handover];
        handover::changes_are_complete [Handover, SecondHandle];
        handover::a_mover_writes_to_what_it_fills_alone [Handover, Archive];
        handover::every_change_but_an_addition_is_a_rewrite [Handover, Archive];
    } };
}

/// Makes the table of the promises out of the list.
#[doc(hidden)]
#[macro_export]
macro_rules! __promise_table {
    ({} $($subject:ident :: $name:ident [$($need:ident),*];)*) => {
        /// Every promise, in the order in which they are checked.
        pub static PROMISES: &[Promise] = &[$(Promise {
            name: stringify!($name),
            needs: &[$(Capability::$need),*],
            check: |fresh| Box::pin($subject::$name(fresh.into())),
        }),*];
    };
}

__for_each_promise! { __promise_table! {} }
