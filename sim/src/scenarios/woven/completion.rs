//! Stop and completion: RACE-16 to RACE-23.

use runwarden_protocol::instant::Duration;
use runwarden_protocol::run::guards::Guards;

use super::{Woven, WovenVariant};
use crate::weave::{
    APPEND_FAILED, Act, Actor, Bed, COMMIT_FAILED, Script, Story, Verdict, Wrong, check_data,
    ensure,
};

/// How long a Stop or a kill may wait, in milliseconds.
const WAIT_MS: u32 = 100;

const CLIENT: Actor = Actor::numbered("client", 1);
const SERVER: Actor = Actor::only("server");

/// A partial answer is stored once, above its marker, however often the session is recovered.
pub(super) const RACE_23: Woven = Woven::of::<PartialRow>(
    "RACE-23",
    "partial-row-after-the-marker-or-twice",
    &[
        WovenVariant::around::<PartialRow>(
            "partial-below-marker",
            "INV-5",
            Wrong::PartialBelowMarker,
        ),
        WovenVariant::around::<PartialRow>("partial-each-load", "INV-5", Wrong::PartialEachLoad),
    ],
);

struct PartialRow;

impl Story for PartialRow {
    async fn play<G: Guards>(mut bed: Bed<G>) -> Verdict {
        bed.start().await;
        let mut client = bed.connect().await;
        let session = client.create_session().await.expect("a store without faults");
        bed.choices().allow(&[APPEND_FAILED, COMMIT_FAILED]);
        bed.agents.will([Script::of(&[Act::Say("one "), Act::Say("two"), Act::Hang])]);
        let reply = client.say(&session, "prompt").await.expect("a reply");
        let run = reply.data["run_id"].as_str().map(str::to_owned);
        bed.wait(CLIENT, "stop", WAIT_MS).await;
        if let Some(run) = &run {
            client.send_stop(&session, run).await;
        }
        for _ in 0..2 {
            bed.wait(SERVER, "kill", WAIT_MS).await;
            bed.kill();
            check_data(&bed.disk.data())?;
            bed.agents.forget_plans();
            bed.start().await;
            check_data(&bed.disk.data())?;
        }
        bed.choices().allow(&[]);
        bed.kill();
        bed.start().await;
        bed.sleep(Duration::from_secs(60)).await;
        let data = bed.disk.data();
        ensure(data.runs.values().all(|run| run.outcome.is_some()), "RST-01", || {
            "a run of the last process is not settled".to_owned()
        })?;
        check_data(&data)
    }
}
