#include "data/image_folder.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "imaging/decode.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

struct LabelledFile {
  std::string path;  // relative to the split's folder
  int label = 0;
};

// Names of the visible entries of a folder that `accept` takes, in byte order.
template <typename Accept>
absl::StatusOr<std::vector<std::string>> SortedEntries(const fs::path& folder, Accept accept) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && accept(*entry)) names.push_back(name);
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder.string(), " cannot be read: ", error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

bool IsFolder(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored);
}

bool IsPicture(const fs::directory_entry& entry) {
  const std::string ending = absl::AsciiStrToLower(entry.path().extension().string());
  std::error_code ignored;
  return (ending == ".jpg" || ending == ".jpeg" || ending == ".png") && entry.is_regular_file(ignored);
}

class ImageFolder final : public Dataset {
 public:
  ImageFolder(fs::path root, std::vector<LabelledFile> files, std::vector<std::string> labels)
      : root_(std::move(root)), files_(std::move(files)) {
    labels_ = std::move(labels);
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  int label(int64_t index) const override { return files_[index].label; }
  std::string name(int64_t index) const override { return files_[index].path; }

  absl::StatusOr<Image> image(int64_t index) const override {
    ASSIGN_OR_RETURN(const std::string bytes, encoded(index));
    absl::StatusOr<Image> decoded = Decode(bytes);
    if (decoded.ok()) return decoded;
    return absl::Status(decoded.status().code(),
                        absl::StrCat((root_ / files_[index].path).string(), ": ", decoded.status().message()));
  }

  absl::StatusOr<std::string> encoded(int64_t index) const override {
    const fs::path file = root_ / files_[index].path;
    std::ifstream in(file, std::ios::binary);
    std::ostringstream bytes;
    if (!in || !(bytes << in.rdbuf())) {
      return absl::InvalidArgumentError(absl::StrCat(file.string(), " cannot be read or is empty"));
    }
    return std::move(bytes).str();
  }

 private:
  const fs::path root_;
  const std::vector<LabelledFile> files_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenImageFolder(const fs::path& root, Split split) {
  std::error_code ignored;
  if (!fs::is_directory(root, ignored)) return absl::NotFoundError(absl::StrCat(root.string(), " is not a folder"));
  const bool has_splits = fs::is_directory(root / "train", ignored) && fs::is_directory(root / "test", ignored);
  const fs::path folder = !has_splits ? root : root / (split == Split::kTrain ? "train" : "test");
  // The training split defines the classes, so that both splits number them alike.
  ASSIGN_OR_RETURN(std::vector<std::string> labels, SortedEntries(has_splits ? root / "train" : root, IsFolder));
  ASSIGN_OR_RETURN(const std::vector<std::string> present, SortedEntries(folder, IsFolder));
  std::vector<LabelledFile> files;
  for (const std::string& name : present) {
    const auto found = std::lower_bound(labels.begin(), labels.end(), name);
    if (found == labels.end() || *found != name) {
      return absl::InvalidArgumentError(absl::StrCat(folder.string(), " has the class ", name, ", which ",
                                                     (root / "train").string(), " does not have"));
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> pictures, SortedEntries(folder / name, IsPicture));
    for (const std::string& picture : pictures) {
      files.push_back({absl::StrCat(name, "/", picture), static_cast<int>(found - labels.begin())});
    }
  }
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder.string(), " holds no picture; expected <class>/*.jpg or *.png"));
  }
  return std::make_unique<ImageFolder>(folder, std::move(files), std::move(labels));
}

}  // namespace vitrine
