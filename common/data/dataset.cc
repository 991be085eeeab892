// SPDX-License-Identifier: Apache-2.0
#include "common/data/dataset.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/data/formats/cifar.h"
#include "common/data/formats/csv_list.h"
#include "common/data/formats/idx.h"
#include "common/data/formats/image_folder.h"
#include "common/data/formats/stl10.h"
#include "common/data/formats/tiny_imagenet.h"
#include "common/data/formats/webdataset.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

using Opened = absl::StatusOr<std::unique_ptr<Dataset>>;

Opened OpenMnist(std::string_view directory, Split split) {
  return OpenIdx(directory, split, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
}

Opened OpenFashionMnist(std::string_view directory, Split split) {
  return OpenIdx(
      directory, split,
      {"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"});
}

struct Format {
  std::string_view name;
  const char* path;    // placeholder of the text after the colon
  const char* layout;  // required files, in one line
  Opened (*open)(std::string_view path, Split split);
};

constexpr Format kFormats[] = {
    {"mnist", "DIR", "DIR/{train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or .gz", OpenMnist},
    {"fashion-mnist", "DIR", "the same four files as mnist", OpenFashionMnist},
    {"cifar10", "DIR", "DIR/data_batch_{1..5}.bin and test_batch.bin (binary version)",
     [](std::string_view path, Split split) { return OpenCifar10(path, split); }},
    {"cifar100", "DIR", "DIR/train.bin and test.bin (binary version); fine labels",
     [](std::string_view path, Split split) { return OpenCifar100(path, split); }},
    {"stl10", "DIR", "DIR/{train,test}_{X,y}.bin (binary version)",
     [](std::string_view path, Split split) { return OpenStl10(path, split); }},
    {"tiny-imagenet", "DIR", "DIR/wnids.txt, train/<wnid>/images/* and val/images/* with val/val_annotations.txt",
     [](std::string_view path, Split split) { return OpenTinyImageNet(path, split); }},
    {"cars", "DIR", "Stanford Cars as an image folder: DIR/{train,test}/<class>/*.jpg",
     [](std::string_view path, Split split) { return OpenImageFolder(path, split); }},
    {"imagefolder", "DIR",
     "DIR/{train,test or val}/<class>/*, or DIR/<class>/* for both splits; JPEG, PNG and WebP by file ending",
     [](std::string_view path, Split split) { return OpenImageFolder(path, split); }},
    {"tar", "PATH", "WebDataset shards of KEY.jpg and KEY.cls: a folder with train-*.tar and test-*.tar, or a pattern",
     OpenWebDataset},
    {"csv", "FILE",
     "one row per image: path relative to FILE and label (or .jsonl); both splits without a column split",
     [](std::string_view path, Split split) { return OpenCsv(path, split); }},
};

// Returns the format and the path of FORMAT:PATH; the path is empty if `spec` has no colon.
std::pair<std::string_view, std::string_view> SplitSpec(std::string_view spec) {
  const size_t colon = spec.find(':');
  return {spec.substr(0, colon), colon == std::string_view::npos ? "" : spec.substr(colon + 1)};
}

const Format* FindFormat(std::string_view name) {
  const auto* const found = std::ranges::find(kFormats, name, &Format::name);
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

std::string DatasetFormats() {
  std::string text;
  for (const Format& format : kFormats) {
    std::string spec = absl::StrCat(std::string(format.name), ":", format.path);
    spec.resize(18, ' ');
    absl::StrAppend(&text, "  ", spec, format.layout, "\n");
  }
  return text;
}

absl::Status CheckDatasetSpec(std::string_view spec) {
  const auto [name, path] = SplitSpec(spec);
  if (path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(spec), "\" is no data set; write FORMAT:PATH, one of\n", DatasetFormats()));
  }
  if (FindFormat(name) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", std::string(name), "\" is no data set format; the formats are\n", DatasetFormats()));
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(std::string_view spec, Split split) {
  RETURN_IF_ERROR(CheckDatasetSpec(spec));
  const auto [name, path] = SplitSpec(spec);
  const Format& format = *FindFormat(name);
  Opened opened = format.open(path, split);
  if (!absl::IsNotFound(opened.status())) return opened;
  return absl::NotFoundError(
      absl::StrCat(opened.status().message(), "\n", std::string(name), ":", format.path, " needs ", format.layout));
}

bool SameImages(const Dataset& a, const Dataset& b) {
  if (a.size() != b.size()) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a.label(i) != b.label(i) || a.name(i) != b.name(i)) return false;
  }
  for (const int64_t i : {int64_t{0}, a.size() / 2, a.size() - 1}) {
    if (i < 0 || i >= a.size()) continue;
    const absl::StatusOr<std::string> one = a.encoded(i), other = b.encoded(i);
    if (!one.ok() || !other.ok() || *one != *other) return false;
  }
  return true;
}

}  // namespace vitrine
