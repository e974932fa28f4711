//! Decides who a request acts for (AUTH-1), and makes and ends logins (PRIN-6, PRIN-7).

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runwarden_protocol::instant::{Duration, Instant};
use runwarden_runtime::ports::agent::BoxFuture;
use runwarden_runtime::ports::store::{Login, Store, StoreFailure};

use super::attempts::Attempts;
use super::principals::{Principal, Principals};
use super::revocation::{Lease, Revocations};
use super::token::{TokenHash, random_hex};

/// How long a login lives, in milliseconds (PRIN-6).
pub const LOGIN_LIFETIME_MS: u64 = 2_592_000_000;

/// The guarded wall clock.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// The part of the store that keeps logins. Every [`Store`] is one.
pub trait LoginStore: Send + Sync + 'static {
    /// Stores a login.
    fn put(&self, login: Login) -> BoxFuture<'_, Result<(), StoreFailure>>;

    /// Finds a login that has not expired at `now`.
    fn find(
        &self,
        token_hash: [u8; 32],
        now: Instant,
    ) -> BoxFuture<'_, Result<Option<Login>, StoreFailure>>;

    /// Removes a login.
    fn revoke(&self, token_hash: [u8; 32]) -> BoxFuture<'_, Result<(), StoreFailure>>;
}

/// Credentials as a request presents them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Presented<'a> {
    /// `Authorization: Bearer …`, or the body of a login.
    Token(&'a str),
    /// The value of the login cookie.
    Cookie(&'a str),
}

/// An accepted request.
#[derive(Debug)]
pub struct Grant {
    /// Whom it acts for.
    pub principal: Principal,
    /// How long it may.
    pub lease: Lease,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No credentials, or wrong ones.
    #[error("credentials missing or wrong")]
    Credentials,
    /// Too many wrong ones from this address (RATE-5).
    #[error("too many failed attempts; wait {retry_after_ms} ms")]
    TooMany {
        /// How long to wait, in milliseconds.
        retry_after_ms: u64,
    },
    /// The store cannot tell.
    #[error("logins cannot be read or written now")]
    Unavailable,
}

/// Knows the principals and the logins.
pub struct Authority {
    principals: Principals,
    logins: Arc<dyn LoginStore>,
    clock: Clock,
    attempts: Mutex<Attempts>,
    revocations: Revocations,
}

impl<S: Store> LoginStore for S {
    fn put(&self, login: Login) -> BoxFuture<'_, Result<(), StoreFailure>> {
        Box::pin(self.put_login(login))
    }

    fn find(
        &self,
        token_hash: [u8; 32],
        now: Instant,
    ) -> BoxFuture<'_, Result<Option<Login>, StoreFailure>> {
        Box::pin(self.login(token_hash, now))
    }

    fn revoke(&self, token_hash: [u8; 32]) -> BoxFuture<'_, Result<(), StoreFailure>> {
        Box::pin(self.revoke_login(token_hash))
    }
}

impl Authority {
    /// An authority over these principals.
    pub fn new(principals: Principals, logins: Arc<dyn LoginStore>, clock: Clock) -> Self {
        let attempts = Mutex::default();
        Self { principals, logins, clock, attempts, revocations: Revocations::default() }
    }

    /// Whom a request from `address` acts for.
    ///
    /// # Errors
    /// [`Refusal`]; wrong credentials count against the address (RATE-5), missing ones do not.
    pub async fn authenticate(
        &self,
        address: IpAddr,
        presented: Option<Presented<'_>>,
    ) -> Result<Grant, Refusal> {
        let presented = presented.ok_or(Refusal::Credentials)?;
        self.check_attempts(address)?;
        let grant = match presented {
            Presented::Token(token) => self
                .principals
                .by_token(token)
                .map(|principal| Grant { principal, lease: Lease::of_token() }),
            Presented::Cookie(value) => self.by_cookie(value).await?,
        };
        grant.ok_or_else(|| self.refuse(address))
    }

    /// Logs in with a token: the value of a new cookie, which is stored as its hash alone (PRIN-6).
    ///
    /// # Errors
    /// [`Refusal`], as for [`Authority::authenticate`].
    pub async fn login(&self, address: IpAddr, token: &str) -> Result<String, Refusal> {
        self.check_attempts(address)?;
        let principal = self.principals.by_token(token).ok_or_else(|| self.refuse(address))?;
        let value = random_hex().map_err(|_| Refusal::Unavailable)?;
        let login = Login {
            token_hash: TokenHash::of(&value).bytes(),
            principal: principal.id,
            expires_at: (self.clock)().plus(Duration::from_millis(LOGIN_LIFETIME_MS)),
        };
        self.logins.put(login).await.map_err(unavailable)?;
        Ok(value)
    }

    /// Ends the login of this cookie and closes its connections; other logins stay (PRIN-7).
    ///
    /// # Errors
    /// [`Refusal`], as for [`Authority::authenticate`].
    pub async fn logout(&self, address: IpAddr, cookie: &str) -> Result<(), Refusal> {
        self.authenticate(address, Some(Presented::Cookie(cookie))).await?;
        let hash = TokenHash::of(cookie).bytes();
        self.logins.revoke(hash).await.map_err(unavailable)?;
        self.revocations.revoke(hash);
        Ok(())
    }

    async fn by_cookie(&self, value: &str) -> Result<Option<Grant>, Refusal> {
        let hash = TokenHash::of(value).bytes();
        let lease = self.revocations.lease(hash);
        let login = self.logins.find(hash, (self.clock)()).await.map_err(unavailable)?;
        let principal = login.and_then(|login| self.principals.by_id(login.principal));
        Ok(principal.map(|principal| Grant { principal, lease }))
    }

    fn check_attempts(&self, address: IpAddr) -> Result<(), Refusal> {
        let checked = self.attempts().check((self.clock)(), address);
        checked.map_err(|retry_after_ms| Refusal::TooMany { retry_after_ms })
    }

    fn refuse(&self, address: IpAddr) -> Refusal {
        self.attempts().failed((self.clock)(), address);
        Refusal::Credentials
    }

    /// The table is whole after every statement, so a panic elsewhere does not spoil it.
    fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unavailable(failure: StoreFailure) -> Refusal {
    tracing::error!(%failure, "logins cannot be read or written");
    Refusal::Unavailable
}
