// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_WEBDATASET_H_
#define VITRINE_COMMON_DATA_FORMATS_WEBDATASET_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Opens tar shards in WebDataset's layout; see FindTarShards for `where`. Images are the members KEY.jpg (or another of
// kImageEndings). An image's label is KEY.cls (a number as text) or the integer "label" of KEY.json. KEY ends at the
// first dot of the file name. Members of one key need not be adjacent. Members with other endings are ignored. The
// class names are the lines of classes.txt (or classnames.txt) in the shards' folder; without this file they are the
// numbers from "0" to the largest label of the training split. If there is no training split, the largest label of the
// opened split is used.
//
// Images are in the order of shards and members, named SHARD/KEY. This function reads the shards' headers and labels.
// The images can be read later, in any order; each read calls open and pread once. FAILED_PRECONDITION if the size of a
// shard has changed since it was indexed.
//
// NOT_FOUND: the split has no shard. INVALID_ARGUMENT, with the shard and the key: IndexTar rejects the shard; two
// members have the same key and extension; a key has several images; an image has no label; a .cls has no image; a
// label is no number or out of range.
absl::StatusOr<std::unique_ptr<Dataset>> OpenWebDataset(std::string_view where, Split split);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_WEBDATASET_H_
