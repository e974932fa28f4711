//! How much room the file system of the store has.

use std::path::Path;

use runwarden_runtime::ports::StoreFailure;

/// Bytes that this user may still write where `path` lies (LIM-05).
///
/// # Errors
/// [`StoreFailure`] when the system does not say.
pub(super) fn free_bytes(path: &Path) -> Result<u64, StoreFailure> {
    let found = rustix::fs::statvfs(path).map_err(|error| {
        StoreFailure::Unavailable(format!("the free space of {}: {error}", path.display()))
    })?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_there_has_some_room_and_no_other_has() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        let gone = free_bytes(&folder.path().join("gone")).unwrap_err();
        assert!(gone.to_string().contains("gone"), "{gone}");
    }
}
