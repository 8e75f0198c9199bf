//! Where a move stands, for people and for programs.

use petstore_relocation::{MoveStatus, Place};
use serde_json::json;

use crate::{cli::ListForm, console::columns};

/// What is shown of a move.
pub(super) struct Shown {
    pub(super) status: MoveStatus,
    /// Identifiers a second that the standby takes.
    pub(super) rate: f64,
    /// The stores without their passwords.
    pub(super) from: String,
    pub(super) to: String,
}

impl Shown {
    /// In the form that was asked for.
    pub(super) fn render(&self, form: ListForm) -> String {
        match form {
            ListForm::Table => self.table(),
            ListForm::Json => self.json(),
        }
    }

    fn decides(&self) -> &str {
        match self.status.decides {
            Place::Own => &self.from,
            Place::Other => &self.to,
        }
    }

    fn table(&self) -> String {
        let MoveStatus { step, from_highest, to_highest, differences, .. } = &self.status;
        let found = match &differences.last {
            Some(last) => format!("{} (the last: {last})", differences.count),
            None => differences.count.to_string(),
        };
        columns(&[
            ["STEP".to_owned(), step.as_str().to_owned()],
            ["DECIDES".to_owned(), self.decides().to_owned()],
            ["FROM".to_owned(), format!("{}, up to animal {from_highest}", self.from)],
            ["TO".to_owned(), format!("{}, up to animal {to_highest}", self.to)],
            ["LAG".to_owned(), self.status.lag().to_string()],
            ["RATE".to_owned(), format!("{:.0}/s", self.rate)],
            ["DIFFERENCES".to_owned(), found],
        ])
    }

    fn json(&self) -> String {
        let MoveStatus { step, from_highest, to_highest, differences, .. } = &self.status;
        let value = json!({
            "step": step.as_str(),
            "decides": self.decides(),
            "from": {"store": self.from, "highestId": from_highest},
            "to": {"store": self.to, "highestId": to_highest},
            "lag": self.status.lag(),
            "rate": self.rate,
            "differences": differences.count,
            "lastDifference": differences.last,
        });
        format!("{value:#}\n")
    }
}
