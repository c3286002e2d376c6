use std::io::{Cursor, Read};
use std::path::Path;

use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

use super::Stored;
use super::bytes::{Bytes, Mapped};
use super::dtype::Layout;
use super::npy::{self, Header};
use super::place::Place;
use crate::error::{RecordsError, Result};

type Source = Cursor<Mapped>;

/// No stream of DEFLATE data inflates to more than this times its length.
const MAX_INFLATION: u64 = 1032;

/// An archive of `.npy` files, as `numpy.savez` writes.
pub(super) struct Npz {
    map: Mapped,
    archive: ZipArchive<Source>,
    /// Names without `.npy` and places in the archive.
    members: Vec<(String, usize)>,
}

impl Npz {
    pub(super) fn open(path: &Path, map: Mapped) -> Result<Self> {
        let damaged =
            |cause: String| RecordsError::ArrayFile { path: path.to_owned(), kind: ".npz", cause };
        let archive = ZipArchive::new(Cursor::new(map.clone()));
        let archive = archive.map_err(|error| damaged(error.to_string()))?;
        let mut members = Vec::new();
        for index in 0..archive.len() {
            let name = archive.name_for_index(index).transpose();
            let name = name.map_err(|error| damaged(error.to_string()))?;
            // Whatever else is in the archive is no array.
            if let Some(name) = name.as_deref().and_then(|name| name.strip_suffix(".npy")) {
                members.push((name.to_owned(), index));
            }
        }
        match members.is_empty() {
            true => Err(damaged("it holds no arrays".to_owned())),
            false => Ok(Self { map, archive, members }),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.members.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn layout(&self, place: &Place, index: usize) -> Result<Layout> {
        // The archive shares all it knows with its copy, which is only there to be read from.
        let mut archive = self.archive.clone();
        let mut member = self.member(place, &mut archive, index)?;
        Ok(npy::read_header(place, &mut member)?.layout)
    }

    pub(super) fn load(&self, place: &Place, index: usize, max_inflated: u64) -> Result<Stored> {
        let mut archive = self.archive.clone();
        let member = self.member(place, &mut archive, index)?;
        match member.compression() {
            CompressionMethod::Stored => {
                let start = member.data_start().and_then(|start| usize::try_from(start).ok());
                let length = usize::try_from(member.size()).ok();
                let range = start.and_then(|start| Some(start..start.checked_add(length?)?));
                let range = range.ok_or_else(|| place.damaged(0, "its place is not in the file"));
                npy::mapped(place, &self.map, range?)
            }
            _ => inflate(place, member, max_inflated),
        }
    }

    fn member<'a>(
        &self,
        place: &Place,
        archive: &'a mut ZipArchive<Source>,
        index: usize,
    ) -> Result<ZipFile<'a, Source>> {
        let member = archive.by_index(self.members[index].1);
        member.map_err(|error| place.damaged(0, error))
    }
}

/// Inflates exactly as much as the array's own header declares. The sizes in the archive are not
/// asked, since a file made to fill the memory lies there first.
fn inflate(place: &Place, mut member: ZipFile<'_, Source>, max_inflated: u64) -> Result<Stored> {
    let Header { layout, length } = npy::read_header(place, &mut member)?;
    let declared = npy::declared_bytes(place, &layout)?;
    if declared > max_inflated {
        let (path, name) = (place.path.clone(), place.name.clone());
        return Err(RecordsError::ArrayTooLarge { path, name, declared, limit: max_inflated });
    }
    let possible = member.compressed_size().saturating_mul(MAX_INFLATION);
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(declared.min(possible) as usize)
        .map_err(|_| place.damaged(length, format!("no memory for {declared} bytes")))?;
    let read = member.by_ref().take(declared).read_to_end(&mut bytes);
    read.map_err(|error| place.damaged(length + bytes.len() as u64, error))?;
    let found = bytes.len() as u64;
    // Reading to the very end also has the checksum compared.
    let more = member.read(&mut [0]).map_err(|error| place.damaged(length + found, error))?;
    if found != declared || more > 0 {
        let found = if more > 0 { format!("more than {found}") } else { found.to_string() };
        return Err(place.damaged(length, npy::wrong_length(declared, &layout, &found)));
    }
    Ok(Stored { layout, bytes: Bytes::Inflated(bytes) })
}
