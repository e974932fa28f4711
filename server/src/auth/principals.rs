//! Principals: the identities of a configuration, found by their token (PRIN-1, PRIN-2).

use runwarden_protocol::ids::PrincipalId;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::token::TokenHash;

/// What a principal may do (PRIN-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    Owner,
    /// Reading what is shared.
    Viewer,
}

/// A principal as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrincipalEntry {
    /// Unique name.
    pub name: String,
    /// Hash of its token.
    pub token_hash: TokenHash,
    /// Its role.
    pub role: Role,
}

/// An authenticated identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Stable over restarts: it depends on the name alone.
    pub id: PrincipalId,
    /// Its role.
    pub role: Role,
}

/// All principals.
#[derive(Clone, Debug)]
pub struct Principals(Vec<(TokenHash, Principal)>);

impl Principals {
    /// The principals of a configuration that was checked for doubles.
    pub fn new(entries: &[PrincipalEntry]) -> Self {
        let known = |entry: &PrincipalEntry| {
            let principal = Principal { id: principal_id(&entry.name), role: entry.role };
            (entry.token_hash, principal)
        };
        Self(entries.iter().map(known).collect())
    }

    /// The principal whose token this is. Compares with every entry, so that the time tells nothing.
    pub fn by_token(&self, token: &str) -> Option<Principal> {
        let presented = TokenHash::of(token);
        let matching = |found, (hash, principal): &(TokenHash, Principal)| {
            if *hash == presented { Some(*principal) } else { found }
        };
        self.0.iter().fold(None, matching)
    }

    /// The principal with this id, unless the configuration no longer lists it.
    pub fn by_id(&self, id: PrincipalId) -> Option<Principal> {
        self.0.iter().map(|(_, principal)| *principal).find(|principal| principal.id == id)
    }
}

/// The id of the principal with this name: the first 64 bits of its SHA-256.
pub fn principal_id(name: &str) -> PrincipalId {
    let [a, b, c, d, e, f, g, h, ..]: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    PrincipalId::new(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_is_found_by_its_token_alone() {
        let entry = |name: &str, token: &str, role| PrincipalEntry {
            name: name.to_owned(),
            token_hash: TokenHash::of(token),
            role,
        };
        let all = Principals::new(&[entry("a", "ta", Role::Owner), entry("b", "tb", Role::Viewer)]);
        let (a, b) = (all.by_token("ta").unwrap(), all.by_token("tb").unwrap());
        assert_eq!((a.id, a.role), (principal_id("a"), Role::Owner));
        assert_eq!((b.id, b.role), (principal_id("b"), Role::Viewer));
        assert_eq!(all.by_id(b.id), Some(b));
        for wrong in ["", "t", "taa", "TA", "a"] {
            assert_eq!(all.by_token(wrong), None);
        }
        assert_eq!(all.by_id(principal_id("c")), None);
    }

    #[test]
    fn the_id_of_a_name_never_changes() {
        // First 16 digits of `printf %s operator | sha256sum`.
        assert_eq!(principal_id("operator").to_string(), "pri_06e55b633481f7bb");
    }
}
