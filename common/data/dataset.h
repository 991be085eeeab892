// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_DATASET_H_
#define VITRINE_COMMON_DATA_DATASET_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/imaging/image.h"

namespace vitrine {

// A set of images with random access. Thread-safe for concurrent reads.
class ImageSet {
 public:
  virtual ~ImageSet() = default;
  virtual int64_t size() const = 0;
  // Returns a name that is unique within the set: a relative path, or "t10k-images[17]".
  virtual std::string name(int64_t index) const = 0;
  // Returns the encoded file (JPEG, PNG or WebP) as sent to a server. Raw pixels are returned as PNG.
  virtual absl::StatusOr<std::string> encoded(int64_t index) const = 0;
};

// A labelled set of images.
class Dataset : public ImageSet {
 public:
  virtual int label(int64_t index) const = 0;
  // Returns the decoded image. INVALID_ARGUMENT names a corrupt file.
  virtual absl::StatusOr<Image> image(int64_t index) const = 0;
  // Returns the stored bytes of the image: the encoded file, or the raw pixels if there is no file. Digests use these
  // bytes, because they do not depend on the version of an encoder.
  virtual absl::StatusOr<std::string> stored(int64_t index) const { return encoded(index); }
  const std::vector<std::string>& labels() const { return labels_; }
  // Returns true if the set has no splits. The training split and the test split are then both the whole set.
  bool undivided() const { return undivided_; }
  // Returns remarks for the user, one line each: ignored files and rows, an unexpected test split.
  const std::vector<std::string>& remarks() const { return remarks_; }

 protected:
  // Copies labels(), undivided() and remarks() from `other`.
  void DescribeAs(const Dataset& other) {
    labels_ = other.labels_;
    undivided_ = other.undivided_;
    remarks_ = other.remarks_;
  }

  std::vector<std::string> labels_;
  bool undivided_ = false;
  std::vector<std::string> remarks_ = {};
};

enum class Split { kTrain, kTest };

// Opens "FORMAT:PATH". DatasetFormats lists the formats; docs/how-to/data.md describes them. Labels are checked now,
// images when they are read. NOT_FOUND or INVALID_ARGUMENT names the expected files and the path.
absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(std::string_view spec, Split split);

// Checks that `spec` has the form FORMAT:PATH and a known format, without opening the path. INVALID_ARGUMENT lists the
// formats.
absl::Status CheckDatasetSpec(std::string_view spec);

// Returns one line per format for --help: "  mnist:DIR  required files".
std::string DatasetFormats();

// Returns true if both sets seem to have the same images in the same order. For example, returns true for the training
// split and the test split of a set that has no splits. Compares the numbers of images, all names and labels, and the
// files of only three images: the first, the middle and the last. Returns false if one of these files cannot be read.
bool SameImages(const Dataset& a, const Dataset& b);

class CorruptImages;

// Decodes every image now, on `threads` threads, and keeps the pixels in memory. RESOURCE_EXHAUSTED if they need more
// than `max_bytes`. Corrupt images are left out and added to `corrupt` (common/data/tolerant.h); if `corrupt` is null,
// the first error is returned.
absl::StatusOr<std::unique_ptr<Dataset>> CacheInMemory(std::unique_ptr<Dataset> dataset, int threads,
                                                       int64_t max_bytes = int64_t{4} << 30,
                                                       CorruptImages* corrupt = nullptr);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_DATASET_H_
