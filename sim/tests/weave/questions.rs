//! Questions and the windows that show them.

use runwarden_protocol::instant::Duration;
use runwarden_sim::weave::{Act, AgentEvent, Script};
use serde_json::{Value, json};

use crate::support::{each_seed, run, session};

fn answer(session: &str, question: &Value) -> Value {
    json!({
        "action": "answer_question", "session_id": session,
        "question_id": question["question_id"],
        "question_version": question["question_version"],
        "answer": {"options": ["that"]},
    })
}

/// ACT-16 [sim], LIST-7 [sim]: a question outlives every connection that showed it, unchanged; answered in
/// one window it closes in all others.
#[test]
fn a_question_outlives_its_windows_and_closes_in_all_of_them() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Ask, Act::Say("thanks")])]);
        let run = run(&mut client, &session, "ask me").await;
        let asked = client.until(|frame| frame.kind == "question_asked").await.expect("a question");
        let question = asked.data["question"].clone();
        drop(client);
        bed.sleep(Duration::from_millis(random.below(100_000) as u64)).await;
        let (mut first, mut second) = (bed.connect().await, bed.connect().await);
        for client in [&mut first, &mut second] {
            let manifest = client.open(&session).await.expect("a manifest");
            assert_eq!(manifest.data["open_questions"], json!([question]));
        }
        let answered = first.call(answer(&session, &question)).await.expect("an answer");
        assert_eq!(
            (answered.kind.as_str(), &answered.data["outcome"]),
            ("question_resolved", &json!("answered"))
        );
        let closed = second.until(|frame| frame.kind == "question_resolved").await.expect("closed");
        assert_eq!(closed.data["question_id"], question["question_id"]);
        let late = second.call(answer(&session, &question)).await.expect("an answer");
        assert_eq!((late.kind.as_str(), &late.data["code"]), ("answer_refused", &json!("gone")));
        second.ended(&run).await.expect("the end");
        let told: Vec<_> = bed
            .agents
            .events()
            .into_iter()
            .filter(|event| matches!(event, AgentEvent::Answered { .. }))
            .collect();
        assert_eq!(
            told,
            [AgentEvent::Answered { agent: 1, answer: Some(json!({"options": ["that"]})) }]
        );
    });
}
