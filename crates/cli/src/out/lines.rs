//! A file of whole lines that only grows.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

/// A file of whole lines, locked against other processes.
#[derive(Debug)]
pub(super) struct Lines {
    file: File,
    path: PathBuf,
    /// A write failed and may have left half a line.
    is_broken: bool,
}

impl Lines {
    /// Opens or creates it, and cuts an unfinished last line; says how many bytes that were.
    pub(super) fn open(path: &Path) -> anyhow::Result<(Self, u64)> {
        let name = path.display();
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let file = file.with_context(|| format!("cannot open {name}"))?;
        let mut lines = Self { file, path: path.to_owned(), is_broken: false };
        match lines.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("another respool is writing to {name}"),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {name}"));
            }
        }
        let cut = lines.cut_unfinished().with_context(|| format!("cannot repair {name}"))?;
        Ok((lines, cut))
    }

    /// Looks backwards for the last end of a line.
    fn cut_unfinished(&mut self) -> std::io::Result<u64> {
        const STEP: u64 = 64 * 1024;
        let len = self.file.metadata()?.len();
        let mut end = len;
        let mut block = Vec::new();
        let whole = loop {
            if end == 0 {
                break 0;
            }
            let start = end.saturating_sub(STEP);
            self.file.seek(SeekFrom::Start(start))?;
            block.clear();
            (&self.file).take(end - start).read_to_end(&mut block)?;
            if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
                break start + at as u64 + 1;
            }
            end = start;
        };
        if whole < len {
            self.file.set_len(whole)?;
        }
        Ok(len - whole)
    }

    /// Appends a line, which ends with its line feed, in one write. After one that failed there is
    /// no other: the unfinished line has to stay the last.
    pub(super) fn append(&mut self, line: &[u8]) -> anyhow::Result<()> {
        if self.is_broken {
            bail!("{} is not written any more: an earlier write failed", self.path.display());
        }
        let written = self.file.write_all(line);
        self.is_broken = written.is_err();
        written.with_context(|| format!("cannot write to {}", self.path.display()))
    }

    /// What was appended is on disk when this returns.
    pub(super) fn sync(&self) -> anyhow::Result<()> {
        self.file.sync_data().with_context(|| format!("cannot sync {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests;
