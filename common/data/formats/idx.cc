// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/idx.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/data/formats/raw_dataset.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr int64_t kFirstBytes = 1 << 20;
constexpr uint8_t kUnsignedByte = 0x08;

class GzipFile {
 public:
  explicit GzipFile(const std::filesystem::path& file) : file_(gzopen(file.c_str(), "rb")) {
    if (file_ != nullptr) gzbuffer(file_, 1 << 17);
  }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;
  ~GzipFile() {
    if (file_ != nullptr) gzclose(file_);
  }
  bool open() const { return file_ != nullptr; }
  // Returns the number of bytes read: less than `bytes` at the end of the file, negative if the file is damaged. zlib
  // reads uncompressed files unchanged.
  int64_t Read(uint8_t* to, int64_t bytes) {
    int64_t done = 0;
    while (done < bytes) {
      const int got = gzread(file_, to + done, static_cast<unsigned>(std::min<int64_t>(bytes - done, 1 << 24)));
      if (got < 0) return got;
      if (got == 0) break;
      done += got;
    }
    return done;
  }

 private:
  gzFile file_;
};

absl::Status Fault(const std::filesystem::path& file, const std::string& fault) {
  return absl::InvalidArgumentError(absl::StrCat(file.string(), ": ", fault));
}

absl::StatusOr<std::filesystem::path> FindPlainOrGzip(const std::filesystem::path& directory, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    const std::filesystem::path file = directory / (name + ending);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) return file;
  }
  return absl::NotFoundError(absl::StrCat("neither ", name, " nor ", name, ".gz is in ", directory.string()));
}

class IdxDataset final : public RawDataset {
 public:
  IdxDataset(std::string stem, IdxArray images, IdxArray classes, std::vector<std::string> labels)
      : stem_(std::move(stem)), images_(std::move(images)), classes_(std::move(classes)) {
    labels_ = std::move(labels);
  }

  int64_t size() const override { return classes_.shape[0]; }
  int label(int64_t index) const override { return classes_.values[index]; }
  std::string name(int64_t index) const override { return absl::StrCat(stem_, "[", index, "]"); }

  absl::StatusOr<Image> image(int64_t index) const override {
    const int64_t pixels = images_.shape[1] * images_.shape[2];
    const auto first = images_.values.begin() + index * pixels;
    return Image{.width = static_cast<int>(images_.shape[2]),
                 .height = static_cast<int>(images_.shape[1]),
                 .channels = 1,
                 .pixels = std::vector<uint8_t>(first, first + pixels)};
  }

 private:
  const std::string stem_;
  const IdxArray images_;
  const IdxArray classes_;
};

}  // namespace

absl::StatusOr<IdxArray> ReadIdx(const std::filesystem::path& file) {
  GzipFile in(file);
  if (!in.open()) return absl::NotFoundError(absl::StrCat(file.string(), " cannot be opened"));
  uint8_t magic[4];
  if (in.Read(magic, 4) != 4 || magic[0] != 0 || magic[1] != 0) return Fault(file, "not an idx file");
  if (magic[2] != kUnsignedByte) {
    return Fault(file, absl::StrCat("elements of type 0x", absl::Hex(magic[2]), "; only unsigned bytes are read"));
  }
  IdxArray array;
  int64_t bytes = 1;
  for (int axis = 0; axis < magic[3]; ++axis) {
    uint8_t raw[4];
    if (in.Read(raw, 4) != 4) return Fault(file, "ends within the header");
    const int64_t length = int64_t{raw[0]} << 24 | raw[1] << 16 | raw[2] << 8 | raw[3];
    array.shape.push_back(length);
    if (length > kMostBytes || (bytes *= length) > kMostBytes) return Fault(file, "declares more than 1 GiB");
  }
  if (array.shape.empty()) return Fault(file, "declares no axis");
  // Memory grows with the data actually read, because a header of a few bytes may declare 1 GiB.
  int64_t got = 0;
  for (int64_t read = 1; read > 0 && got < bytes; got += read) {
    array.values.resize(std::min(bytes, std::max(2 * got, kFirstBytes)));
    read = in.Read(array.values.data() + got, static_cast<int64_t>(array.values.size()) - got);
    if (read < 0) return Fault(file, "the gzip stream is damaged");
  }
  if (got < bytes) return Fault(file, absl::StrCat("ends after ", got, " of ", bytes, " bytes"));
  uint8_t more;
  if (in.Read(&more, 1) != 0)
    return Fault(file, absl::StrCat("continues after the ", bytes, " bytes that it declares"));
  return array;
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenIdx(const std::filesystem::path& directory, Split split,
                                                 std::vector<std::string> labels) {
  const std::string prefix = split == Split::kTrain ? "train" : "t10k";
  ASSIGN_OR_RETURN(const auto images_file, FindPlainOrGzip(directory, prefix + "-images-idx3-ubyte"));
  ASSIGN_OR_RETURN(const auto labels_file, FindPlainOrGzip(directory, prefix + "-labels-idx1-ubyte"));
  ASSIGN_OR_RETURN(IdxArray images, ReadIdx(images_file));
  ASSIGN_OR_RETURN(IdxArray classes, ReadIdx(labels_file));
  if (images.shape.size() != 3) return Fault(images_file, absl::StrCat("has ", images.shape.size(), " axes, not 3"));
  if (classes.shape.size() != 1) return Fault(labels_file, absl::StrCat("has ", classes.shape.size(), " axes, not 1"));
  if (images.shape[0] == 0) return Fault(images_file, "holds no image");
  if (images.shape[1] == 0 || images.shape[2] == 0) return Fault(images_file, "declares images without pixels");
  if (images.shape[0] != classes.shape[0]) {
    return Fault(images_file,
                 absl::StrCat("has ", images.shape[0], " images, but there are ", classes.shape[0], " labels"));
  }
  for (int64_t i = 0; i < classes.shape[0]; ++i) {
    if (classes.values[i] >= labels.size()) {
      return Fault(labels_file,
                   absl::StrCat("label ", i, " is ", classes.values[i], "; there are ", labels.size(), " classes"));
    }
  }
  return std::make_unique<IdxDataset>(prefix + "-images", std::move(images), std::move(classes), std::move(labels));
}

}  // namespace vitrine
