// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as files of the binary and annotated formats. They must be rejected with a status, or give
// labels in range and images that can be read.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/data/dataset.h"
#include "tests/fuzz/require.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using vitrine::Require;

// Flag in the input's first byte, which also selects the format. If it is set, files are padded to a valid size, which
// mutations would hardly ever find.
constexpr int kFill = 0x80;

// A temporary folder, in memory if /dev/shm exists. The destructor removes it.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::is_directory("/dev/shm") ? "/dev/shm/dataset_fuzz-XXXXXX" : "/tmp/fuzz-XXXXXX";
    path_ = mkdtemp(name.data());
    for (const char* image : {"tiny/train/n01/images/a.JPEG", "tiny/train/n02/images/b.JPEG", "tiny/val/images/v0.JPEG",
                              "tiny/val/images/v1.JPEG"}) {
      Write(image, "no image");
    }
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  void Write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

const Folder& Files() {
  static const Folder folder;
  return folder;
}

// Removes a two-byte length and the following bytes of that length from `rest`. Returns the bytes.
std::string_view Take(std::string_view& rest) {
  if (rest.size() < 2) return {};
  const size_t length = static_cast<uint8_t>(rest[0]) << 8 | static_cast<uint8_t>(rest[1]);
  rest.remove_prefix(2);
  const std::string_view taken = rest.substr(0, length);
  rest.remove_prefix(taken.size());
  return taken;
}

// Returns `bytes` padded to a whole number of records.
std::string Filled(std::string_view bytes, size_t record) {
  std::string filled(bytes);
  filled.resize((bytes.size() + record - 1) / record * record);
  return filled;
}

// Returns an input that selects this format and contains these files.
std::string Input(int choice, const std::string& first, const std::string& second, const std::string& third = "") {
  std::string input(1, static_cast<char>(choice));
  for (const std::string& file : {second, third}) {
    input += static_cast<char>(file.size() >> 8);
    input += static_cast<char>(file.size());
    input += file;
  }
  return input + first;
}

// Returns a valid data set of each format. If libFuzzer has no corpus, the mutator starts from these data sets.
const std::vector<std::string>& Seeds() {
  using namespace std::string_literals;
  static const auto& seeds = *new std::vector<std::string>{
      Input(0, "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03"s + "abcdef", "\0\0\x08\x01\0\0\0\x02\x07\x01"s),
      Input(kFill | 1, "\x09 pixels", ""),
      Input(kFill | 2, "\x03\x63 pixels", ""),
      Input(kFill | 3, "pixels", "\x0a"),
      Input(kFill | 4, "", "v1.JPEG\tn02\t0\t1\t2\t3\nv0.JPEG\tn01\t0\t1\t2\t3\n", "n01\ta word\nn02\tanother\n"),
      Input(4, "n02\nn01\n", "v0.JPEG\tn01\nv1.JPEG\tn01\n"),
  };
  return seeds;
}

// Writes the files of one format. Returns the argument for OpenDataset.
std::string Write(int format, bool fill, std::string_view first, std::string_view second, std::string_view third) {
  const Folder& files = Files();
  switch (format % 5) {
    case 0:
      files.Write("mnist/t10k-images-idx3-ubyte", first);
      files.Write("mnist/t10k-labels-idx1-ubyte", second);
      return "mnist:" + files / "mnist";
    case 1:
      files.Write("cifar10/test_batch.bin", fill ? Filled(first, 3073) : std::string(first));
      files.Write("cifar10/batches.meta.txt", fill ? "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n" : second);
      return "cifar10:" + files / "cifar10";
    case 2:
      files.Write("cifar100/test.bin", fill ? Filled(first, 3074) : std::string(first));
      return "cifar100:" + files / "cifar100";
    case 3:
      files.Write("stl10/test_X.bin", fill ? Filled(first, 27648) : std::string(first));
      files.Write("stl10/test_y.bin", second);
      return "stl10:" + files / "stl10";
    default:
      files.Write("tiny/wnids.txt", fill ? "n01\nn02\n" : first);
      files.Write("tiny/val/val_annotations.txt", second);
      files.Write("tiny/words.txt", third);
      return "tiny-imagenet:" + files / "tiny";
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (size < 2 || seed % 64 == 0) {
    const std::string& start = Seeds()[seed / 64 % Seeds().size()];
    size = std::min(start.size(), max_size);
    std::memcpy(data, start.data(), size);
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const int choice = data[0];
  rest.remove_prefix(1);
  const std::string_view second = Take(rest), third = Take(rest);
  const std::string spec = Write(choice & ~kFill, choice & kFill, rest, second, third);
  const auto opened = vitrine::OpenDataset(spec, vitrine::Split::kTest);
  if (!opened.ok()) {
    Require(opened.status().code() == absl::StatusCode::kInvalidArgument ||
            opened.status().code() == absl::StatusCode::kNotFound);
    return 0;
  }
  const vitrine::Dataset& set = **opened;
  for (int64_t i = 0; i < std::min<int64_t>(set.size(), 100); ++i) {
    Require(set.label(i) >= 0 && static_cast<size_t>(set.label(i)) < set.labels().size());
    Require(!set.name(i).empty());
    const auto image = set.image(i);
    if (spec.starts_with("tiny")) {
      Require(image.status().code() == absl::StatusCode::kInvalidArgument);
      continue;
    }
    Require(image.ok());
    Require(image->pixels.size() == static_cast<size_t>(image->width) * image->height * image->channels);
  }
  return 0;
}
