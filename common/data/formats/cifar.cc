// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/cifar.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/data/file.h"
#include "common/data/formats/planar_records.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 32;
constexpr size_t kCoarseClasses = 20;

// Returns `archive_folder` in `directory` if it exists, else `directory`. CIFAR's archives unpack to `archive_folder`.
fs::path Unpacked(const fs::path& directory, const char* archive_folder) {
  return IsFolder(directory / archive_folder) ? directory / archive_folder : directory;
}

absl::Status CheckLabel(const fs::path& file, int64_t record, const char* kind, int label, size_t classes) {
  if (static_cast<size_t>(label) < classes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file.string(), ": record ", record, " has the ", kind, " ", label,
                                                 "; there are ", classes, " classes"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenCifar10(const fs::path& directory, Split split) {
  const fs::path folder = Unpacked(directory, "cifar-10-batches-bin");
  std::vector<std::string> labels = {"airplane", "automobile", "bird",  "cat",  "deer",
                                     "dog",      "frog",       "horse", "ship", "truck"};
  if (IsRegularFile(folder / "batches.meta.txt")) {
    ASSIGN_OR_RETURN(labels, ReadClassNames(folder / "batches.meta.txt", labels.size()));
  }
  std::vector<fs::path> files;
  if (split == Split::kTest) {
    files.push_back(folder / "test_batch.bin");
  } else {
    for (int i = 1; i <= 5; ++i) files.push_back(folder / absl::StrCat("data_batch_", i, ".bin"));
  }
  constexpr RecordLayout kLayout{.width = kSide, .height = kSide, .header_bytes = 1};
  std::vector<uint8_t> classes;
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(const std::vector<uint8_t> headers, ReadHeaders(file, kLayout));
    for (size_t i = 0; i < headers.size(); ++i) {
      RETURN_IF_ERROR(CheckLabel(file, static_cast<int64_t>(i), "label", headers[i], labels.size()));
    }
    classes.insert(classes.end(), headers.begin(), headers.end());
  }
  return OpenPlanarRecords(files, kLayout, std::move(classes), std::move(labels));
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenCifar100(const fs::path& directory, Split split) {
  const fs::path folder = Unpacked(directory, "cifar-100-binary");
  std::vector<std::string> labels;
  for (int i = 0; i < 100; ++i) labels.push_back(absl::StrCat(i));
  if (IsRegularFile(folder / "fine_label_names.txt")) {
    ASSIGN_OR_RETURN(labels, ReadClassNames(folder / "fine_label_names.txt", labels.size()));
  }
  const fs::path file = folder / (split == Split::kTest ? "test.bin" : "train.bin");
  constexpr RecordLayout kLayout{.width = kSide, .height = kSide, .header_bytes = 2};
  ASSIGN_OR_RETURN(const std::vector<uint8_t> headers, ReadHeaders(file, kLayout));
  std::vector<uint8_t> classes;
  for (size_t i = 0; i < headers.size(); i += 2) {
    const int64_t record = static_cast<int64_t>(i / 2);
    RETURN_IF_ERROR(CheckLabel(file, record, "coarse label", headers[i], kCoarseClasses));
    RETURN_IF_ERROR(CheckLabel(file, record, "fine label", headers[i + 1], labels.size()));
    classes.push_back(headers[i + 1]);
  }
  return OpenPlanarRecords({file}, kLayout, std::move(classes), std::move(labels));
}

}  // namespace vitrine
