//! What the rows of two stores mean together.

use petstore_domain::{Relocation, Role};

/// One of two stores: that of `--from` or of `--to` for a mover, the service's own or the other one for a
/// service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `--from`, or a service's own.
    Own,
    /// `--to`, or the other one.
    Other,
}

impl Place {
    /// The other one of the two.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Own => Self::Other,
            Self::Other => Self::Own,
        }
    }
}

/// Where a move stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// There is none.
    NoMove,
    /// This store decides, and the other one follows.
    Decides(Place),
    /// This store decides, but takes no writes, as the other one is about to decide.
    Drains(Place),
    /// It is decided that this store decides, but it does not take writes yet.
    Opens(Place),
    /// The move is finished, and this store decides for good.
    Over(Place),
}

impl Decision {
    /// What both rows say; `None` if they contradict each other, as they may when a row has changed between
    /// the readings of the two.
    pub(crate) fn new(own: Option<&Relocation>, other: Option<&Relocation>) -> Option<Self> {
        let role = |row: Option<&Relocation>| row.map(|row| row.role);
        let places = [(Place::Own, own, other), (Place::Other, other, own)];
        for (place, one, opposite) in places {
            match (role(one), role(opposite)) {
                (_, Some(Role::Moved)) => return Some(Self::Over(place)),
                (Some(Role::Deciding), Some(Role::Standby) | None) => {
                    return Some(Self::Decides(place));
                }
                // A move has not wholly begun.
                (None, Some(Role::Standby)) => return Some(Self::Decides(place)),
                (Some(Role::Draining), Some(Role::Standby) | None) => {
                    return Some(Self::Drains(place));
                }
                _ => {}
            }
        }
        match (own, other) {
            (None, None) => Some(Self::NoMove),
            // The one with the higher revision has left last.
            (Some(one), Some(another)) if both_are_standby(one, another) => {
                let own_left = one.revision > another.revision;
                Some(Self::Opens(if own_left { Place::Other } else { Place::Own }))
            }
            _ => None,
        }
    }
}

fn both_are_standby(one: &Relocation, another: &Relocation) -> bool {
    (one.role, another.role) == (Role::Standby, Role::Standby)
}

#[cfg(test)]
mod tests {
    use petstore_domain::{Relocation, Role};

    use super::{Decision, Place};

    #[test]
    fn two_rows_mean_one_decision() {
        use Decision::{Decides, Drains, NoMove, Opens, Over};
        use Place::{Other, Own};
        let row = |role, revision| Some(Relocation::new(role, revision, ""));
        for (own, other, decision) in [
            (None, None, Some(NoMove)),
            (None, row(Role::Standby, 0), Some(Decides(Own))),
            (row(Role::Deciding, 1), row(Role::Standby, 0), Some(Decides(Own))),
            (row(Role::Draining, 2), row(Role::Standby, 0), Some(Drains(Own))),
            (row(Role::Standby, 3), row(Role::Standby, 0), Some(Opens(Other))),
            (row(Role::Standby, 3), row(Role::Deciding, 4), Some(Decides(Other))),
            (row(Role::Standby, 3), row(Role::Standby, 6), Some(Opens(Own))),
            (row(Role::Moved, 4), row(Role::Deciding, 4), Some(Over(Other))),
            (row(Role::Moved, 4), None, Some(Over(Other))),
            (row(Role::Deciding, 1), row(Role::Deciding, 4), None),
            (row(Role::Draining, 2), row(Role::Deciding, 4), None),
        ] {
            assert_eq!(Decision::new(own.as_ref(), other.as_ref()), decision);
            let turned = decision.map(|decision| match decision {
                NoMove => NoMove,
                Decides(place) => Decides(place.opposite()),
                Drains(place) => Drains(place.opposite()),
                Opens(place) => Opens(place.opposite()),
                Over(place) => Over(place.opposite()),
            });
            assert_eq!(Decision::new(other.as_ref(), own.as_ref()), turned);
        }
    }
}
