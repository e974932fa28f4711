//! The files of the project, as the checks on the project itself see them.

use std::io;
use std::path::{Path, PathBuf};

/// Folders that hold no source of the project: build results, packages, version control.
const SKIPPED_FOLDERS: [&str; 2] = ["target", "node_modules"];

/// Endings of the files that are read.
const READ_ENDINGS: [&str; 6] = ["rs", "js", "mjs", "md", "toml", "sh"];

/// One text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Path from the root of the project, with `/` between its parts.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// Text files of the project, sorted by path.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    files: Vec<SourceFile>,
}

impl Tree {
    /// Reads the text files below `root`.
    ///
    /// # Errors
    /// The first folder or file that cannot be read, with its path.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).map_err(|error| at(&folder, &error))? {
                let entry = entry?;
                let path = entry.path();
                let kind = entry.file_type()?;
                if kind.is_dir() && !is_skipped(&path) {
                    folders.push(path);
                } else if kind.is_file() && is_read(&path) {
                    let text = std::fs::read_to_string(&path).map_err(|error| at(&path, &error))?;
                    files.push(SourceFile { path: relative(root, &path), text });
                }
            }
        }
        Ok(Self::from_files(files))
    }

    /// A tree of the given files.
    pub fn from_files(mut files: Vec<SourceFile>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// All files.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Files whose path starts with `prefix` and ends with `ending`.
    pub fn matching<'a>(
        &'a self,
        prefix: &'a str,
        ending: &'a str,
    ) -> impl Iterator<Item = &'a SourceFile> {
        self.files
            .iter()
            .filter(move |file| file.path.starts_with(prefix) && file.path.ends_with(ending))
    }

    /// The text of the file at `path`.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }
}

/// The root of the project this crate was built from.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate lies in a folder of the project")
        .to_path_buf()
}

fn is_skipped(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with('.') || SKIPPED_FOLDERS.contains(&name)
}

fn is_read(path: &Path) -> bool {
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| READ_ENDINGS.contains(&ending))
}

fn relative(root: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap_or(path);
    inner.to_string_lossy().replace('\\', "/")
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
