// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_CIFAR_H_
#define VITRINE_COMMON_DATA_FORMATS_CIFAR_H_

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Opens the binary version of CIFAR-10: data_batch_1.bin to data_batch_5.bin and test_batch.bin, in `directory` or its
// subfolder cifar-10-batches-bin/. A record is a label and 32x32 RGB pixels. Class names come from batches.meta.txt, if
// present. CIFAR-100 has train.bin and test.bin with a coarse and a fine label per record, in `directory` or its
// subfolder cifar-100-binary/; the fine label is used. Its class names come from fine_label_names.txt, or are "0" to
// "99".
//
// NOT_FOUND names the missing file. INVALID_ARGUMENT names the file, and the record if its label is out of range.
absl::StatusOr<std::unique_ptr<Dataset>> OpenCifar10(const std::filesystem::path& directory, Split split);
absl::StatusOr<std::unique_ptr<Dataset>> OpenCifar100(const std::filesystem::path& directory, Split split);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_CIFAR_H_
