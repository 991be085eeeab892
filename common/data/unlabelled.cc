// SPDX-License-Identifier: Apache-2.0
#include "common/data/unlabelled.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/data/file.h"
#include "common/data/file_names.h"
#include "common/data/folder.h"
#include "common/data/formats/image_files.h"
#include "common/data/formats/image_rows.h"
#include "common/data/formats/tar_index.h"
#include "common/data/formats/tar_shards.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// List of names stored in one string, because a million std::string would take several times the memory.
class Names {
 public:
  void Add(std::string_view name) {
    text_ += name;
    ends_.push_back(text_.size());
  }
  // Reserves memory for names of `bytes` bytes in total.
  void Reserve(size_t bytes) { text_.reserve(bytes); }
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  std::string_view operator[](int64_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(text_).substr(begin, ends_[index] - begin);
  }
  // Returns INVALID_ARGUMENT, with the name, if a name occurs twice.
  absl::Status CheckDistinct(const std::string& source) const {
    std::vector<int64_t> order(ends_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](int64_t a, int64_t b) { return (*this)[a] < (*this)[b]; });
    const auto twice = std::adjacent_find(order.begin(), order.end(),
                                          [this](int64_t a, int64_t b) { return (*this)[a] == (*this)[b]; });
    if (twice == order.end()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(source, ": ", EscapedBytes((*this)[*twice]), " occurs twice"));
  }

 private:
  std::string text_;
  std::vector<size_t> ends_;
};

absl::StatusOr<std::string> ReadSendable(const std::string& path) {
  ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(path));
  return SentFile(path, std::move(bytes));
}

// Image files: the images of a folder, or the files that a list names.
class Files final : public ImageSet {
 public:
  Files(fs::path folder, bool listed, Names names)
      : folder_(std::move(folder)), listed_(listed), names_(std::move(names)) {}
  int64_t size() const override { return names_.size(); }
  std::string name(int64_t index) const override { return std::string(names_[index]); }
  absl::StatusOr<std::string> encoded(int64_t index) const override {
    const std::string_view name = names_[index];
    return ReadSendable((folder_ / (listed_ ? ListedFile(folder_, name) : std::string(name))).string());
  }

 private:
  const fs::path folder_;
  const bool listed_;
  const Names names_;
};

// Returns true if `part`, a component of a tar member's path, is a hidden name; the member is then skipped.
bool IsHidden(const fs::path& part) {
  return part != "." && part != ".." && IsHiddenName(part.string());
}

class TarImages final : public ImageSet {
 public:
  static absl::StatusOr<UnlabelledImages> Open(const TarFiles& files, const std::string& source) {
    auto images = std::make_unique<TarImages>();
    PassedOver passed_over;
    for (const fs::path& path : files.paths) RETURN_IF_ERROR(images->Index(path, files.folder, passed_over));
    if (images->size() == 0) {
      return absl::NotFoundError(absl::StrCat(source, " holds no image: no member ends with ", kImageEndings));
    }
    RETURN_IF_ERROR(images->names_.CheckDistinct(source));
    return UnlabelledImages{.images = std::move(images), .passed_over = passed_over.InWords()};
  }
  int64_t size() const override { return names_.size(); }
  std::string name(int64_t index) const override { return std::string(names_[index]); }
  absl::StatusOr<std::string> encoded(int64_t index) const override {
    const auto tar = std::upper_bound(tars_.begin(), tars_.end(), index,
                                      [](int64_t index, const Tar& tar) { return index < tar.first; }) -
                     1;
    const auto [offset, bytes] = places_[index];
    ASSIGN_OR_RETURN(std::string image, ReadTarMember(tar->path, tar->bytes, offset, bytes));
    return SentFile(name(index), std::move(image));
  }

 private:
  struct Tar {
    fs::path path;
    int64_t bytes = 0;  // size of the file when it was indexed
    int64_t first = 0;  // index of its first image
  };

  absl::Status Index(const fs::path& path, const fs::path& folder, PassedOver& passed_over) {
    ASSIGN_OR_RETURN(const ReadOnlyFile file, ReadOnlyFile::Open(path));
    int64_t links = 0;
    ASSIGN_OR_RETURN(const std::vector<TarMember> members, IndexTar(file, &links));
    passed_over.AddLinks(links);
    FolderContent skipped;
    tars_.push_back({path, file.size(), size()});
    const std::string before = path.lexically_relative(folder).string() + "/";
    for (const TarMember& member : members) {
      const fs::path name = member.name;
      if (std::any_of(name.begin(), name.end(), IsHidden)) continue;
      if (!IsImageEnding(name.extension().string())) {
        ++skipped.others[absl::AsciiStrToLower(name.extension().string())];
        continue;
      }
      names_.Add(before + member.name);
      places_.emplace_back(member.offset, member.bytes);
    }
    passed_over.AddOthers(skipped);
    return absl::OkStatus();
  }

  std::vector<Tar> tars_;
  Names names_;
  std::vector<std::pair<int64_t, int64_t>> places_;  // offset and size of each image
};

// Adds the images below `root`/`inside`.
absl::Status AddFolder(const fs::path& root, const fs::path& inside, Names& names, PassedOver& passed_over) {
  ASSIGN_OR_RETURN(const FolderContent content, ReadFolder(root / inside));
  for (const std::string& name : content.images) names.Add((inside / name).string());
  passed_over.AddOthers(content);
  for (const std::string& name : content.folders) {
    std::error_code ignored;
    if (fs::is_symlink(root / inside / name, ignored)) {
      passed_over.AddFolderLink();
    } else {
      RETURN_IF_ERROR(AddFolder(root, inside / name, names, passed_over));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<UnlabelledImages> OpenFolder(const std::string& source) {
  Names names;
  PassedOver passed_over;
  RETURN_IF_ERROR(AddFolder(source, "", names, passed_over));
  if (names.size() > 0) {
    return UnlabelledImages{.images = std::make_unique<Files>(source, /*listed=*/false, std::move(names)),
                            .passed_over = passed_over.InWords()};
  }
  const absl::StatusOr<TarFiles> tars = ListTarFiles(source);
  if (!tars.ok()) {
    return absl::NotFoundError(absl::StrCat(source, " holds no image (", kImageEndings, ") and no .tar file"));
  }
  return TarImages::Open(*tars, source);
}

// Adds a line of a list. If the line has no backslash, the file's name is resolved only when the image is read.
void AddListed(const fs::path& folder, std::string_view line, Names& names) {
  const bool escaped = line.find('\\') != std::string_view::npos;
  names.Add(escaped ? ListedFile(folder, line) : std::string(line));
}

absl::StatusOr<UnlabelledImages> OpenList(const std::string& source) {
  const fs::path path = source;
  const std::string ending = path.extension().string();
  Names names;
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  names.Reserve(text.size());
  if (ending == ".csv" || ending == ".tsv" || ending == ".jsonl" || ending == ".ndjson") {
    int64_t empty = 0;  // line of a row without a path
    const auto read = ForEachImageRow(text, ending, /*labelled=*/false, [&](const ImageRow& row) {
      const std::string_view name = WithoutBlanks(row.path);
      if (name.empty()) empty = row.line;
      AddListed(path.parent_path(), name, names);
    });
    if (!read.ok()) return absl::InvalidArgumentError(absl::StrCat(source, " ", read.status().message()));
    if (empty > 0) return absl::InvalidArgumentError(absl::StrCat(source, " line ", empty, ": expected a path"));
  } else {
    for (std::string_view rest = text; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view name = WithoutBlanks(rest.substr(0, end));
      if (!name.empty()) AddListed(path.parent_path(), name, names);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (names.size() == 0) return absl::NotFoundError(absl::StrCat("the list ", source, " names no image"));
  RETURN_IF_ERROR(names.CheckDistinct(source));
  return UnlabelledImages{.images = std::make_unique<Files>(path.parent_path(), /*listed=*/true, std::move(names))};
}

}  // namespace

absl::StatusOr<UnlabelledImages> OpenUnlabelled(const std::string& source) {
  if (source.find("://") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        source,
        " is a URL, but images are read from files; copy or mount it first, as in aws s3 sync s3://BUCKET DIR"));
  }
  if (IsFolder(source)) return OpenFolder(source);
  if (source.ends_with(".tar")) {
    ASSIGN_OR_RETURN(const TarFiles tars, ListTarFiles(source));
    return TarImages::Open(tars, source);
  }
  for (const char* compressed : {".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"}) {
    if (source.ends_with(compressed)) {
      return absl::InvalidArgumentError(absl::StrCat(source, " is a compressed tar file; decompress it first"));
    }
  }
  if (IsImageEnding(fs::path(source).extension().string())) {
    return absl::InvalidArgumentError(absl::StrCat(source, " is an image; give its folder, or use vitrine classify"));
  }
  if (IsRegularFile(source)) return OpenList(source);
  return absl::NotFoundError(absl::StrCat("there is no folder, list or tar file ", source));
}

}  // namespace vitrine
