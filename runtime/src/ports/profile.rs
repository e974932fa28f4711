//! What an agent is and what it declares.

/// What an operator configured as one agent, and what the agent declares (AGT-01).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentProfile {
    /// Name in the configuration, unique.
    pub name: String,
    /// Label shown to people, at most 80 characters.
    pub label: String,
    /// Models it offers; empty when there is no choice, or when it is not known yet.
    pub models: Vec<String>,
    /// The model used when a session names none.
    pub default_model: Option<String>,
    /// Whether it could be used when it was last tried; `true` until then.
    pub available: bool,
    context: AgentContext,
    capabilities: AgentCapabilities,
}

/// Where the conversation is kept between two invocations (AGT-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentContext {
    /// By the server, which hands over all of it at each invocation (AGT-02).
    #[default]
    Transcript,
    /// By the agent, which finds it again by a handle (AGT-03).
    Own,
}

/// What an agent can do beyond answering a prompt (AGT-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentCapabilities {
    /// Takes a steer while it works.
    pub steer: bool,
    /// Takes attachments.
    pub attachments: bool,
    /// Finds a conversation again after its process is gone.
    pub resume: bool,
}

/// A declaration that contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an agent that cannot resume a conversation cannot keep it as its own context; \
     run it with context `transcript`"
)]
pub struct OwnWithoutResume;

impl AgentProfile {
    /// An agent of context `transcript` with no capability and no choice of models.
    pub fn new(name: String, label: String) -> Self {
        Self {
            name,
            label,
            models: Vec::new(),
            default_model: None,
            available: true,
            context: AgentContext::Transcript,
            capabilities: AgentCapabilities::default(),
        }
    }

    /// The same agent with another declaration.
    ///
    /// # Errors
    /// [`OwnWithoutResume`]: context `own` needs a way back to the conversation (AGT-04).
    pub fn declare(
        mut self,
        context: AgentContext,
        capabilities: AgentCapabilities,
    ) -> Result<Self, OwnWithoutResume> {
        if context == AgentContext::Own && !capabilities.resume {
            return Err(OwnWithoutResume);
        }
        self.context = context;
        self.capabilities = capabilities;
        Ok(self)
    }

    /// Where the conversation is kept.
    pub const fn context(&self) -> AgentContext {
        self.context
    }

    /// What it can do.
    pub const fn capabilities(&self) -> AgentCapabilities {
        self.capabilities
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AGT-01 [unit], AGT-04 [unit]: an agent declares its context and capabilities, and what cannot
    /// resume a conversation cannot declare context `own`.
    #[test]
    fn own_context_needs_a_way_back_to_the_conversation() {
        let profile = || AgentProfile::new("a".into(), "A".into());
        assert_eq!(profile().context(), AgentContext::Transcript);
        assert_eq!(profile().capabilities(), AgentCapabilities::default());
        for steer in [false, true] {
            for attachments in [false, true] {
                let of = |resume| AgentCapabilities { steer, attachments, resume };
                let refused = profile().declare(AgentContext::Own, of(false));
                assert_eq!(refused, Err(OwnWithoutResume));
                for (context, resume) in [
                    (AgentContext::Transcript, false),
                    (AgentContext::Transcript, true),
                    (AgentContext::Own, true),
                ] {
                    let declared = profile().declare(context, of(resume)).unwrap();
                    assert_eq!(
                        (declared.context(), declared.capabilities()),
                        (context, of(resume))
                    );
                }
            }
        }
    }
}
