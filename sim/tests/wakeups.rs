//! The rules of wakeups on model ports: RACE-70 as its catalogue tells it.

use runwarden_sim::explore::{Budget, Conditions, NotTaken, Play, Recording};
use runwarden_sim::scenarios::Scenario;

const PLENTY: Budget = Budget { clients: 9, events: 9, stops: 9, drops: 9, crashes: 9 };

const STORED: &str = "store answer wakeups_changed(ses_1)";

/// A telling of the story, until a rule is broken or it goes another way.
struct Story(Box<dyn Play>);

impl Story {
    /// The world of RACE-70 from its very begin.
    fn of(variant: Option<&str>) -> Self {
        let scenario = Scenario::find("RACE-70").expect("it is in the catalogue");
        let conditions = Conditions { oddity: None, ..scenario.conditions };
        let scenario = Scenario { init: &[], conditions, ..*scenario };
        let variant = variant.map(|name| scenario.variant(name).expect("it has this variant"));
        Self(scenario.begin(variant, PLENTY, Recording::Off))
    }

    fn take(&mut self, labels: &[&str]) -> Result<(), NotTaken> {
        labels.iter().try_for_each(|label| self.0.take(label))
    }

    /// A reserved run is accepted and works until `end`, with an agent that is kept or constructed.
    fn turn(&mut self, run: u32, is_kept: bool, end: &str) -> Result<(), NotTaken> {
        self.begin(run, is_kept)?;
        self.end(run, end)
    }

    fn begin(&mut self, run: u32, is_kept: bool) -> Result<(), NotTaken> {
        self.0.take(&format!("store answer admitted(run_{run})"))?;
        self.0.take(&format!("worker-{run} answer launched(run_{run})"))?;
        self.0.take(&format!("worker-{run} answer began(run_{run})"))?;
        if !is_kept {
            self.0.take(&format!("worker-{run} answer constructed(run_{run})"))?;
        }
        self.0.take(&format!("worker-{run} answer registration_asked(run_{run})"))?;
        self.0.take(&format!("worker-{run} answer invocation_asked(run_{run})"))
    }

    fn end(&mut self, run: u32, end: &str) -> Result<(), NotTaken> {
        self.0.take(&format!("agent-{run} emit {end}(run_{run})"))?;
        self.0.take(&format!("store answer settled(run_{run})"))
    }

    fn is_anything_due(&self, of: &str) -> bool {
        self.0.enabled().iter().any(|label| label.starts_with(of))
    }
}

fn tell(variant: Option<&str>) -> Result<Story, NotTaken> {
    let mut story = Story::of(variant);
    story.take(&["client-a send start(run_1)"])?;
    story.begin(1, false)?;
    for number in 1..=5 {
        let wake = format!("producer send wake(wake_{number})");
        story.take(&[&wake, STORED])?;
    }
    story.take(&["producer send wake_elsewhere(wake_6)"])?;
    story.end(1, "completed")?;
    // A slot is missing, and when it comes a user's turn is there: no attempt is spent.
    story.take(&["drain fault no_slot(wake_1)", "client-c send start(run_3)"])?;
    story.begin(3, true)?;
    story.take(&["drain send free_slot", "drain send start_wakeup(wake_1)"])?;
    story.end(3, "completed")?;
    // A start that is refused for good is a failed turn, which the turn of a user forgives.
    story.take(&["drain fault no_agent(wake_1)", STORED, "client-f send start(run_6)"])?;
    story.turn(6, true, "completed")?;
    story.take(&["drain send start_wakeup(wake_1)"])?;
    story.turn(7, true, "completed")?;
    story.take(&["server fault crash", "producer send wake_again(wake_1)"])?;
    story.take(&["drain send start_wakeup(wake_2)"])?;
    story.begin(8, false)?;
    story.take(&["agent-8 emit wake(wake_7)"])?;
    story.end(8, "failed")?;
    story.take(&["drain send start_wakeup(wake_3)"])?;
    story.turn(9, true, "failed")?;
    story.take(&["drain send start_wakeup(wake_4)"])?;
    story.turn(10, true, "failed")?;
    if story.is_anything_due("drain") {
        return Err(NotTaken::NotEnabled);
    }
    story.take(&["server fault crash"])?;
    if story.is_anything_due("drain") || story.is_anything_due("store") {
        return Err(NotTaken::NotEnabled);
    }
    story.take(&["client-k send start(run_11)"])?;
    story.turn(11, false, "completed")?;
    story.take(&["drain send start_wakeup(wake_5)"])?;
    story.turn(12, true, "completed")?;
    Ok(story)
}

/// STR-13 [sim], STR-14 [sim], STR-15 [sim], STR-16 [sim]: one wakeup of its own session starts for each trigger, a
/// refusal for want of room costs nothing, a crash loses none and repeats none, three failed turns pause them,
/// also across a crash, and each faulty variant tells another story.
#[test]
fn wakeups_run_once_each_in_their_session_and_pause_behind_failures() {
    let told = tell(None);
    let story = told.unwrap_or_else(|other| panic!("{other}"));
    assert!(!story.is_anything_due("drain"), "{:?}", story.0.enabled());
    for variant in Scenario::find("RACE-70").expect("it is in the catalogue").variants {
        assert!(tell(Some(variant.name)).is_err(), "{}", variant.name);
    }
}
