// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_UNLABELLED_H_
#define VITRINE_COMMON_DATA_UNLABELLED_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

struct UnlabelledImages {
  std::unique_ptr<ImageSet> images;
  // description of skipped files in a folder or in tar files (common/data/folder.h); empty: none skipped
  std::string passed_over = {};
};

// Opens images without labels. `source` is one of
//   a folder           its visible images and the images of its subfolders; in each folder, the images come before the
//                      subfolders, both in byte order; links to folders are not followed. If the folder has no image,
//                      its *.tar files are opened
//   FILE.tar           tar files of all splits, also as a pattern with braces and wildcards (see ListTarFiles).
//                      Images are the visible members with an image's extension; links and other members are skipped
//   another file       a list with a path per line, relative to the list's folder and resolved by ListedFile
//                      (common/data/file_names.h). A list with the extension .csv, .tsv, .jsonl or .ndjson is
//                      read as OpenCsv reads it, but its labels may be missing
// Names are paths below the folder, TAR/MEMBER, or lines of the list; a line with a backslash ("caf\xe9.jpg",
// "a\1.jpg") is replaced by the name of the file that ListedFile finds. Images are opened when they are read; a missing
// image is reported then. Each name takes its length plus 8 bytes of memory; the name of an image in a tar file takes
// 16 bytes more. A list may have at most 256 MiB; while it is read, it takes twice its size in memory.
//
// NOT_FOUND: no such file, or no image. INVALID_ARGUMENT: `source` is a URL, an image or a compressed tar file; a name
// is repeated. PERMISSION_DENIED: a folder cannot be read. Also returns the errors of IndexTar and OpenCsv.
absl::StatusOr<UnlabelledImages> OpenUnlabelled(const std::string& source);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_UNLABELLED_H_
