//! The list of the promises.

mod concurrency;
mod durability;
mod handover;
mod idempotency;
mod identifiers;
mod keys;
pub(crate) mod model;
mod outage;
mod pages;
mod rows;
mod snapshots;
mod values;
mod version;
mod writes;

use std::pin::Pin;

use crate::{failure::PromiseResult, fixture::Fixture, harness::Capability};

/// One promise of the contract.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// The name of the promise and of its test.
    pub name: &'static str,
    /// Capabilities without which the promise is not checked.
    pub needs: &'static [Capability],
    pub(crate) check: fn(Fixture) -> Pin<Box<dyn Future<Output = PromiseResult> + Send>>,
}

/// Passes every promise to the macro `$then`, after the tokens `$with`, as `subject::name [needs];`. The doc comment of
/// each function states the part of the contract that the function checks.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_promise {
    ($then:ident! { $($with:tt)* }) => { $crate::$then! { { $($with)* }
        values::what_is_declared_unsupported_is_not_there [];
        values::a_fresh_store_is_empty [];
        values::an_animal_comes_back_as_it_was_given [];

        identifiers::identifiers_grow_and_none_is_assigned_twice [];
        identifiers::no_identifier_of_a_copied_store_comes_back [Archive];
        identifiers::where_no_identifier_is_left_all_else_goes_on [Archive];

        pages::a_page_is_the_query_s_and_says_whether_more_follow [];
        pages::a_walk_meets_what_was_there_exactly_once [];

        idempotency::a_record_decides_until_exactly_its_expiry [];
        idempotency::ids_that_differ_in_any_bit_are_two_records [];
        idempotency::equal_requests_at_once_add_one_animal [];
        idempotency::an_animal_and_its_record_appear_together [Archive];
        idempotency::a_replay_returns_the_animal_of_its_request [Archive];
        idempotency::a_record_outlasts_its_deleted_animal [DeletedRow];
        idempotency::purging_keeps_to_its_limit_and_its_cutoff [];
        idempotency::a_purge_spares_a_record_that_is_replaced_meanwhile [];

        durability::two_that_open_a_new_store_at_once_open_the_same [SecondHandle];
        durability::what_another_process_does_shows_here [OtherProcess];
        durability::a_dropped_addition_happens_whole_or_not_at_all [];
        durability::a_refused_row_fails_its_own_request_only [RefusedRow];

        version::the_version_is_that_of_reads_and_answered_at_once [Version];
        version::a_version_never_comes_back [Version];
        version::reads_under_one_version_are_equal [Version];
        version::an_addition_elsewhere_changes_the_version_within_100_ms [Version, SecondHandle];
        version::after_a_pause_the_version_is_not_an_old_one [Version];

        keys::a_key_comes_back_as_it_was_given [];
        keys::a_save_takes_a_hundred_keys [];
        keys::a_digest_of_another_key_is_refused [];
        keys::a_revision_never_comes_back [];
        keys::a_save_keeps_the_latest_use [];
        keys::of_saves_over_one_revision_one_is_kept [];
        keys::a_key_ring_follows_every_change [];

        outage::an_unreachable_store_is_unavailable_and_comes_back [Outage];

        model::random_commands_do_as_the_model_does [];

        snapshots::a_snapshot_holds_everything_in_order [Archive];
        snapshots::a_snapshot_does_not_see_later_writes [Archive];
        rows::rows_come_back_and_may_be_written_again [Archive];
        rows::many_animals_are_added_in_their_order [Archive];
        rows::a_repeated_batch_adds_nothing [Archive];
        rows::a_key_that_is_there_already_is_merged [Archive];
        rows::rows_in_the_place_of_others_are_refused [Archive];

        writes::a_write_shows_everywhere_and_changes_nothing_else [];
        writes::reopening_keeps_what_was_acknowledged [Reopen];
        concurrency::rows_show_as_a_whole_on_every_handle [Archive];
        concurrency::writers_go_on_beside_rows [Archive];
        concurrency::a_write_that_waits_holds_up_no_other_task [];

        handover::a_store_that_is_not_open_refuses_everything [Handover];
        handover::a_sealed_store_is_read_by_handles_opened_for_it [Handover];
        handover::a_state_is_replaced_by_its_revision_and_lasts [Handover];
        handover::nothing_is_added_after_any_of_many_seals [Handover, Archive];
        handover::a_snapshot_is_complete_up_to_its_last_animal [Handover, Archive];
        handover::a_mover_writes_only_to_the_store_that_it_fills [Handover, Archive];
        handover::every_change_but_an_addition_is_a_rewrite [Handover, Archive];
        writes::what_a_mover_writes_shows_when_the_store_opens [Handover, Archive];
    } };
}

/// Defines the table of promises from the list.
#[doc(hidden)]
#[macro_export]
macro_rules! __promise_table {
    ({} $($subject:ident :: $name:ident [$($need:ident),*];)*) => {
        /// Every promise, in the order of the list.
        pub static PROMISES: &[Promise] = &[$(Promise {
            name: stringify!($name),
            needs: &[$(Capability::$need),*],
            check: |fixture| Box::pin($subject::$name(fixture.into())),
        }),*];
    };
}

__for_each_promise! { __promise_table! {} }
