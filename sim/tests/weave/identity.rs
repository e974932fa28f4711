//! What a client knows of a store whose history is another one now.

use runwarden_sim::weave::{Bed, Client};
use serde_json::{Value, json};

use crate::support::{each_seed, session, text_of, turn};

/// A client that knows the store, the session and a place in the list.
struct Knowing {
    session: String,
    store_id: Value,
    schema_version: Value,
    revision: Value,
    cursor: Value,
}

async fn welcome(client: &mut Client) -> Value {
    let hello = json!({"action": "hello", "protocol_min": 1, "protocol_max": 1, "features": []});
    client.call(hello).await.expect("a welcome").data
}

impl Knowing {
    async fn learn(bed: &mut Bed) -> Self {
        let (mut client, session) = session(bed).await;
        turn(&mut client, &session, "one").await;
        let second = client.create_session().await.expect("a session");
        turn(&mut client, &second, "two").await;
        let mut silent = bed.connect_silently().await;
        let welcome = welcome(&mut silent).await;
        let manifest = client.open(&session).await.expect("a manifest").data;
        let list = json!({"action": "list_sessions", "limit": 1});
        let cursor = client.call(list).await.expect("a page").data["next_cursor"].clone();
        Self {
            session,
            store_id: welcome["store_id"].clone(),
            schema_version: welcome["schema_version"].clone(),
            revision: manifest["session_revision"].clone(),
            cursor,
        }
    }

    /// Comes back to the server; whether it is the store it knows.
    async fn is_believed(&self, bed: &Bed) -> bool {
        let mut client = bed.connect_silently().await;
        let is_same = welcome(&mut client).await["store_id"] == self.store_id;
        let open = json!({
            "action": "open_session", "session_id": self.session, "generation": 1,
            "known_store_id": self.store_id, "known_session_revision": self.revision,
            "known_stream_seqs": {}, "known_schema_version": self.schema_version,
        });
        let manifest = client.call(open).await.expect("a manifest").data;
        let list = json!({"action": "list_sessions", "limit": 1, "cursor": self.cursor});
        let page = client.call(list).await.expect("an answer");
        if is_same {
            assert_eq!(manifest["recovery"], json!(null), "{manifest}");
            assert_eq!(page.kind, "sessions_list", "{page:?}");
        } else {
            assert_eq!(manifest["recovery"], json!({"reason": "client_ahead"}));
            assert_eq!(page.data["code"], "cursor_unavailable", "{page:?}");
        }
        is_same
    }
}

/// JRN-22 [sim]: a store goes on under its name after a clean end and after a kill, and under another one after a loss of
/// power or a restore; whoever knows the old one is told so and loads anew.
#[test]
fn a_store_that_may_have_lost_rows_has_another_name() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let mut known = Knowing::learn(&mut bed).await;
        for _ in 0..4 {
            let backup = bed.disk.data();
            let how = random.below(5);
            match how {
                0 => bed.shut_down().await,
                1 => bed.kill(),
                2 => bed.lose_power(),
                3 => {
                    bed.shut_down().await;
                    bed.disk.lose_power();
                }
                _ => {
                    bed.shut_down().await;
                    bed.disk.restore(backup);
                }
            }
            bed.start().await;
            let is_same = known.is_believed(&bed).await;
            assert_eq!(is_same, matches!(how, 0 | 1 | 3), "end {how}");
            if !is_same {
                let mut client = bed.connect_silently().await;
                known.store_id = welcome(&mut client).await["store_id"].clone();
                let list = json!({"action": "list_sessions", "limit": 1});
                let page = client.call(list).await.expect("a page").data;
                known.cursor = json!(text_of(&page["next_cursor"]));
            }
            assert!(known.is_believed(&bed).await, "the present name is believed");
        }
    });
}
