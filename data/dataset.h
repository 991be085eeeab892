// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_DATASET_H_
#define VITRINE_DATA_DATASET_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "imaging/image.h"

namespace vitrine {

// A labelled set of pictures with random access. Thread-safe for concurrent reads.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual int label(int64_t index) const = 0;
  // Unique within the set: a relative path, or "t10k-images[17]".
  virtual std::string name(int64_t index) const = 0;
  // Decoded. INVALID_ARGUMENT names the file if it is corrupt.
  virtual absl::StatusOr<Image> image(int64_t index) const = 0;
  // The encoded file (JPEG, PNG or WebP) as it would be sent to a server; sets that store raw pixels encode as PNG.
  virtual absl::StatusOr<std::string> encoded(int64_t index) const = 0;
  // The bytes that the set stores of the picture, for digests: the encoded file, or the raw pixels where there is none,
  // so that they are the same under every version of an encoder.
  virtual absl::StatusOr<std::string> stored(int64_t index) const { return encoded(index); }
  const std::vector<std::string>& labels() const { return labels_; }
  // True where nothing divides the set, so that both of its splits are all of it.
  bool undivided() const { return undivided_; }
  // Says what was passed over when the set was opened, in one line; empty where nothing was.
  const std::string& passed_over() const { return passed_over_; }

 protected:
  // Takes labels and what else is said of the whole set from another one.
  void DescribeAs(const Dataset& other) {
    labels_ = other.labels_;
    undivided_ = other.undivided_;
    passed_over_ = other.passed_over_;
  }

  std::vector<std::string> labels_;
  bool undivided_ = false;
  std::string passed_over_ = {};
};

enum class Split { kTrain, kTest };

// Opens "FORMAT:PATH"; DatasetFormats lists the formats, docs/how-to/data.md describes them. Every label is checked
// now, pictures when they are asked for. NOT_FOUND or INVALID_ARGUMENT says what was looked for and where.
absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(std::string_view spec, Split split);

// One line per format for --help: "  mnist:DIR  what has to be there".
std::string DatasetFormats();

// Whether both sets are the same pictures in the same order, as the splits of a folder without splits are: sizes, names
// and labels are compared, and the files of three pictures.
bool SamePictures(const Dataset& a, const Dataset& b);

class CorruptPictures;

// The same set with every picture decoded now, by `threads` threads, and kept in memory. RESOURCE_EXHAUSTED if the
// pixels need more than `max_bytes`. Corrupt pictures are left out and added to `corrupt` (data/tolerant.h); without
// it, the first one's error is returned.
absl::StatusOr<std::unique_ptr<Dataset>> CacheInMemory(std::unique_ptr<Dataset> dataset, int threads,
                                                       int64_t max_bytes = int64_t{4} << 30,
                                                       CorruptPictures* corrupt = nullptr);

}  // namespace vitrine

#endif  // VITRINE_DATA_DATASET_H_
