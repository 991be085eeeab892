// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_WEBDATASET_H_
#define VITRINE_DATA_WEBDATASET_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace vitrine {

// Tar shards in WebDataset's layout; see FindTarShards for what `where` may be. Members KEY.jpg, .jpeg, .png or .webp
// are the pictures; KEY.cls, a number in text, or the integer "label" of KEY.json is the label. KEY ends at the first
// dot of the file name. Members of one key need not be neighbours; other members are passed over. classes.txt (or
// classnames.txt) in the shards' folder names the classes, one a line; without it they are "0" to the largest label of
// the training split.
//
// Pictures are in the order of shards and members, named SHARD/KEY. The shards' headers and labels are read now; a
// picture is one open and one pread, in any order. FAILED_PRECONDITION if a shard changed meanwhile.
//
// NOT_FOUND if the split has no shard. INVALID_ARGUMENT names the shard and the key: see IndexTar; a member or a
// picture of a key twice, a picture without a label, a .cls without a picture, a label that is no number or out of
// range.
absl::StatusOr<std::unique_ptr<Dataset>> OpenWebDataset(std::string_view where, Split split);

}  // namespace vitrine

#endif  // VITRINE_DATA_WEBDATASET_H_
