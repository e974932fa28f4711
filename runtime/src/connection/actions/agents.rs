//! `list_agents`: what people may choose from (AGT-01).

use runwarden_protocol::wire::frames::{AgentsList, Frame};
use runwarden_protocol::wire::structures::{
    AgentCapabilities as WireCapabilities, AgentContext as WireContext, AgentItem,
};

use super::super::reply::ReplyTo;
use crate::hub::Hub;
use crate::ports::profile::{AgentContext, AgentProfile};
use crate::ports::{Store, World};

/// Agents in the order of the configuration, the default first.
pub(super) fn list<W: World, S: Store>(hub: &Hub<W, S>, reply: ReplyTo) {
    let agents = hub.config().agents.iter().map(|agent| item(agent.profile())).collect();
    let request_id = reply.request_id();
    reply.done(Frame::AgentsList(AgentsList { request_id, agents }));
}

fn item(profile: AgentProfile) -> AgentItem {
    let capabilities = profile.capabilities();
    let context = match profile.context() {
        AgentContext::Transcript => WireContext::Transcript,
        AgentContext::Own => WireContext::Own,
    };
    AgentItem {
        agent: profile.name,
        label: profile.label,
        models: profile.models,
        default_model: profile.default_model,
        capabilities: WireCapabilities {
            steer: capabilities.steer,
            attachments: capabilities.attachments,
            resume: capabilities.resume,
        },
        context,
        available: profile.available,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::profile::AgentCapabilities;

    /// AGT-01 [unit]: an agent is shown with the context and the capabilities it declared.
    #[test]
    fn an_agent_is_shown_as_it_declares_itself() {
        let profile = || {
            let mut profile = AgentProfile::new("coder".to_owned(), "The Coder".to_owned());
            profile.models = vec!["small".to_owned(), "large".to_owned()];
            profile.default_model = Some("small".to_owned());
            profile
        };
        let plain = item(profile());
        assert_eq!((plain.agent.as_str(), plain.label.as_str()), ("coder", "The Coder"));
        assert_eq!((plain.models.len(), plain.default_model.as_deref()), (2, Some("small")));
        assert_eq!((plain.context, plain.available), (WireContext::Transcript, true));
        for resume in [true, false] {
            let declared = AgentCapabilities { steer: !resume, attachments: true, resume };
            let context = if resume { AgentContext::Own } else { AgentContext::Transcript };
            let shown = item(profile().declare(context, declared).unwrap());
            let WireCapabilities { steer, attachments, resume: resumes } = shown.capabilities;
            assert_eq!((steer, attachments, resumes), (!resume, true, resume));
            assert_eq!(shown.context == WireContext::Own, resume);
        }
        let mut broken = profile();
        broken.available = false;
        assert!(!item(broken).available);
    }
}
