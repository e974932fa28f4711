//! Who is asking: tokens, logins and their revocation (families PRIN and AUTH).

mod attempts;
mod authority;
mod principals;
mod revocation;
mod token;

pub use attempts::{Attempts, LOGINS_FAILED_MAX, LOGINS_WINDOW_MS};
pub use authority::{Authority, Clock, Grant, LOGIN_LIFETIME_MS, LoginStore, Presented, Refusal};
pub use principals::{Principal, PrincipalEntry, Principals, Role, principal_id};
pub use revocation::{Lease, Revocations};
pub(crate) use token::bytes_of_hex;
pub use token::{TokenFileError, TokenHash, load_or_generate, random_hex};
