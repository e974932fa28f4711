//! What an agent lets its client choose: models and modes, in each of the ways agents offer them.

use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOptions, SessionModeState, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest,
};
use runwarden_runtime::ports::AgentFailure;
use runwarden_runtime::ports::agent::FailureKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{MODEL_CHARS_MAX, MODELS_MAX};
use super::connection::{Connection, Inbox};
use super::message;

/// Agents from before configuration options name their models like this; it left the protocol.
const SET_MODEL: &str = "session/set_model";

/// What can be chosen in a session of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Offer {
    /// The models, if there is a choice.
    pub(super) models: Option<Choice>,
    /// The modes, if there are any.
    pub(super) modes: Option<Choice>,
}

/// One thing that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// The id of what is in force.
    pub(super) current: String,
    values: Vec<Named>,
    setter: Setter,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    id: String,
    name: String,
}

/// How it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Setter {
    /// As the configuration option of this id.
    Option(String),
    /// As the mode of the session.
    Mode,
    /// As the model of the session.
    Model,
}

/// The models of agents from before configuration options.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OlderModels {
    current_model_id: String,
    available_models: Vec<OlderModel>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OlderModel {
    model_id: String,
    #[serde(default)]
    name: Option<String>,
}

impl Offer {
    /// Reads what the answer to `session/new`, `load` or `resume` offers. What cannot be read is not
    /// offered.
    pub(super) fn read(answer: &Value) -> Self {
        let mut offer = Self {
            models: message::typed(&answer["models"]).and_then(Choice::of_older_models),
            modes: message::typed(&answer["modes"]).and_then(Choice::of_modes),
        };
        if let Some(options) = answer["configOptions"].as_array() {
            let options: Vec<_> = options.iter().filter_map(message::typed).collect();
            offer.take_options(&options);
        }
        offer
    }

    /// Takes over the newest configuration options; true when another mode is in force.
    pub(super) fn take_options(&mut self, options: &[SessionConfigOption]) -> bool {
        let mode_before = self.modes.as_ref().map(|modes| modes.current.clone());
        for option in options {
            let place = match &option.category {
                Some(SessionConfigOptionCategory::Model) => &mut self.models,
                Some(SessionConfigOptionCategory::Mode) => &mut self.modes,
                Some(_) | None => continue,
            };
            // An agent that has both ways is spoken to in the newer one.
            if let Some(choice) = Choice::of_option(option) {
                *place = Some(choice);
            }
        }
        self.modes.as_ref().map(|modes| &modes.current) != mode_before.as_ref()
    }

    /// Notes the mode that is in force; true when it is another one than before.
    pub(super) fn take_mode(&mut self, id: &str) -> bool {
        match &mut self.modes {
            Some(modes) if modes.current == id => false,
            Some(modes) => {
                id.clone_into(&mut modes.current);
                true
            }
            None => {
                let (current, values) = (id.to_owned(), Vec::new());
                self.modes = Some(Choice { current, values, setter: Setter::Mode });
                true
            }
        }
    }

    /// The ids of the models, as many as a profile names.
    pub(super) fn model_ids(&self) -> Vec<String> {
        let ids = self.models.iter().flat_map(|models| &models.values).map(|value| &value.id);
        ids.filter(|id| !id.is_empty() && id.chars().count() <= MODEL_CHARS_MAX)
            .take(MODELS_MAX)
            .cloned()
            .collect()
    }
}

impl Choice {
    /// The name of what is in force, as people read it.
    pub(super) fn current_name(&self) -> &str {
        let known = self.values.iter().find(|value| value.id == self.current);
        known.map_or(&self.current, |value| &value.name)
    }

    /// The id of `wanted`, an id or a name, if it is offered.
    pub(super) fn id_of(&self, wanted: &str) -> Option<&str> {
        let by_name = || self.values.iter().find(|value| value.name == wanted);
        let found = self.values.iter().find(|value| value.id == wanted).or_else(by_name);
        found.map(|value| value.id.as_str())
    }

    /// Chooses `wanted`, an id or a name. Does nothing when it is in force.
    ///
    /// # Errors
    /// [`FailureKind::Refused`] when it is not offered, and what the agent answers.
    pub(super) async fn choose(
        &mut self,
        (connection, inbox): (&Connection, &Inbox<'_>),
        session_id: &str,
        (what, wanted): (&str, &str),
    ) -> Result<(), AgentFailure> {
        // Some agents do not list what is in force.
        if wanted == self.current {
            return Ok(());
        }
        let Some(id) = self.id_of(wanted).map(str::to_owned) else {
            return Err(not_offered(what, wanted, &self.values));
        };
        if id == self.current {
            return Ok(());
        }
        let (method, params) = self.setter.request(session_id, &id);
        let answer = connection.call(inbox, method, &params).await?;
        let options: Option<SetSessionConfigOptionResponse> = message::typed(&answer);
        self.current = id;
        if let (Setter::Option(own), Some(options)) = (&self.setter, options) {
            let newest = options.config_options.iter().find(|option| *option.id.0 == **own);
            if let Some(newest) = newest.and_then(Self::of_option) {
                *self = newest;
            }
        }
        Ok(())
    }

    fn of_option(option: &SessionConfigOption) -> Option<Self> {
        let SessionConfigKind::Select(select) = &option.kind else { return None };
        let values: Vec<_> = match &select.options {
            SessionConfigSelectOptions::Ungrouped(options) => options.iter().collect(),
            SessionConfigSelectOptions::Grouped(groups) => {
                groups.iter().flat_map(|group| &group.options).collect()
            }
            _ => return None,
        };
        let named = |id: &str, name: &str| Named { id: id.to_owned(), name: name.to_owned() };
        Some(Self {
            current: select.current_value.0.to_string(),
            values: values.iter().map(|value| named(&value.value.0, &value.name)).collect(),
            setter: Setter::Option(option.id.0.to_string()),
        })
    }

    fn of_modes(state: SessionModeState) -> Option<Self> {
        let named = |(id, name): (String, String)| Named { id, name };
        let modes = state.available_modes.into_iter();
        Some(Self {
            current: state.current_mode_id.0.to_string(),
            values: modes.map(|mode| named((mode.id.0.to_string(), mode.name))).collect(),
            setter: Setter::Mode,
        })
    }

    fn of_older_models(state: OlderModels) -> Option<Self> {
        let named = |model: OlderModel| Named {
            name: model.name.unwrap_or_else(|| model.model_id.clone()),
            id: model.model_id,
        };
        Some(Self {
            current: state.current_model_id,
            values: state.available_models.into_iter().map(named).collect(),
            setter: Setter::Model,
        })
    }
}

impl Setter {
    fn request(&self, session_id: &str, id: &str) -> (&'static str, Value) {
        let session = session_id.to_owned();
        match self {
            Self::Option(option) => {
                let request = SetSessionConfigOptionRequest::new(session, option.clone(), id);
                (AGENT_METHOD_NAMES.session_set_config_option, message::json(&request))
            }
            Self::Mode => {
                let request = SetSessionModeRequest::new(session, id.to_owned());
                (AGENT_METHOD_NAMES.session_set_mode, message::json(&request))
            }
            Self::Model => (SET_MODEL, json!({"sessionId": session, "modelId": id})),
        }
    }
}

/// The failure of a choice that the agent does not have at all.
pub(super) fn no_choice(what: &str, wanted: &str) -> AgentFailure {
    let detail = format!("the agent offers no choice of {what}s, so `{wanted}` cannot be chosen");
    AgentFailure { kind: FailureKind::Refused, detail }
}

fn not_offered(what: &str, wanted: &str, values: &[Named]) -> AgentFailure {
    let ids = values.iter().take(MODELS_MAX).map(|value| value.id.as_str());
    let offered = ids.collect::<Vec<_>>().join(", ");
    let detail = format!("the agent offers no {what} `{wanted}`; it offers: {offered}");
    AgentFailure { kind: FailureKind::Refused, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(id: &str, category: &str, current: &str) -> Value {
        json!({"id": id, "name": id, "category": category, "type": "select",
        "currentValue": current, "options": [
            {"value": "a", "name": "A"}, {"value": "b", "name": "B"},
        ]})
    }

    #[test]
    fn options_stand_before_the_older_ways_and_what_cannot_be_read_is_not_offered() {
        let older = json!({
            "modes": {"currentModeId": "x", "availableModes": [{"id": "x", "name": "X"}, 3]},
            "models": {"currentModelId": "m", "availableModels": [{"modelId": "m"}]},
        });
        let offer = Offer::read(&older);
        assert_eq!(offer.model_ids(), ["m"]);
        assert_eq!(offer.modes.as_ref().unwrap().current_name(), "X");
        let mut both = older;
        both["configOptions"] = json!([
            option("the-model", "model", "b"), option("the-mode", "mode", "a"), {"id": 1},
            {"id": "flag", "name": "f", "category": "model", "type": "boolean", "currentValue": true},
        ]);
        let offer = Offer::read(&both);
        let models = offer.models.as_ref().unwrap();
        assert_eq!((offer.model_ids(), models.current_name()), (vec!["a".into(), "b".into()], "B"));
        assert_eq!(models.setter, Setter::Option("the-model".into()));
        assert_eq!(
            Offer::read(&json!({"modes": 1, "models": [], "configOptions": {}})),
            Offer::default()
        );
    }

    #[test]
    fn a_mode_is_new_only_when_it_is_another_one() {
        let mut offer = Offer::default();
        assert!(offer.take_mode("plan") && !offer.take_mode("plan") && offer.take_mode("code"));
        assert_eq!(offer.modes.as_ref().unwrap().current_name(), "code");
        let options: Vec<SessionConfigOption> =
            vec![message::typed(&option("the-mode", "mode", "a")).unwrap()];
        assert!(offer.take_options(&options) && !offer.take_options(&options));
    }

    #[test]
    fn each_way_has_its_request() {
        let (method, params) = Setter::Option("o".into()).request("s", "a");
        assert_eq!(method, "session/set_config_option");
        assert_eq!(params, json!({"sessionId": "s", "configId": "o", "value": "a"}));
        let (method, params) = Setter::Mode.request("s", "a");
        assert_eq!(
            (method, params),
            ("session/set_mode", json!({"sessionId": "s", "modeId": "a"}))
        );
        let (method, params) = Setter::Model.request("s", "a");
        assert_eq!((method, params), (SET_MODEL, json!({"sessionId": "s", "modelId": "a"})));
    }

    #[test]
    fn the_models_of_a_profile_have_bounds() {
        let of = |count: usize, characters: usize| {
            let models: Vec<_> = (0..count)
                .map(|number| json!({"modelId": format!("{number:0>characters$}")}))
                .collect();
            let models = json!({"currentModelId": "0", "availableModels": models});
            Offer::read(&json!({"models": models})).model_ids().len()
        };
        assert_eq!(of(MODELS_MAX - 1, 2), MODELS_MAX - 1);
        assert_eq!((of(MODELS_MAX, 2), of(MODELS_MAX + 1, 2)), (MODELS_MAX, MODELS_MAX));
        assert_eq!((of(1, MODEL_CHARS_MAX), of(1, MODEL_CHARS_MAX + 1)), (1, 0));
    }
}
