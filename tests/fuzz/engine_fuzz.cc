// SPDX-License-Identifier: Apache-2.0
// Calls the engine's C API: runs a model once on up to three images with one request, then calls every function that
// reads the answers. An input starts with the number of images. Each image has its kind, height, width, channels, size
// (two bytes) and bytes. The rest of the input is the request. If the input starts with 255, the rest is the name of a
// model to load instead. Each call must return OK, or an error code together with a message.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "client/engine/vitrine_engine.h"
#include "common/imaging/header.h"
#include "tests/fuzz/require.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

// Maximum size of an image file that is decoded, so that a run is quick.
constexpr int64_t kMostPixels = 1 << 16;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  int Byte() {
    const std::string_view one = Take(1);
    return one.empty() ? 0 : static_cast<uint8_t>(one[0]);
  }
  std::string_view Take(size_t size) {
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view Rest() { return Take(bytes_.size()); }

 private:
  std::string_view bytes_;
};

// Returns true if a call succeeded. Requires an error message after a failed call.
bool Succeeded(int code) {
  Require(code >= 0 && code <= 16);
  Require(code == VITRINE_ENGINE_OK || *vitrine_engine_last_error() != '\0');
  return code == VITRINE_ENGINE_OK;
}

VitrineEngineModel* Loaded() {
  static VitrineEngineModel* const model = [] {
    VitrineEngineModel* loaded = nullptr;
    const VitrineEngineOptions options = {sizeof(VitrineEngineOptions), 1, nullptr};
    Require(Succeeded(vitrine_engine_load(VITRINE_SOURCE "/models/bundled", "kv-pos-mnist", &options, &loaded)));
    return loaded;
  }();
  return model;
}

void Load(std::string_view name) {
  VitrineEngineModel* loaded = nullptr;
  const bool succeeded =
      Succeeded(vitrine_engine_load(VITRINE_SOURCE "/models/bundled", std::string(name).c_str(), nullptr, &loaded));
  Require(succeeded == (loaded != nullptr));
  vitrine_engine_free(loaded);
}

VitrineEngineImage ReadImage(Reader& reader) {
  VitrineEngineImage image = {};
  image.input = static_cast<int8_t>(reader.Byte());
  image.height = reader.Byte();
  image.width = reader.Byte();
  image.channels = static_cast<int8_t>(reader.Byte());
  const int size = reader.Byte();
  const std::string_view bytes = reader.Take(static_cast<size_t>(size | reader.Byte() << 8));
  image.data = bytes.data();
  image.size = bytes.size();
  const auto header = ReadHeader(bytes);
  if (header.ok() && int64_t{header->height} * header->width > kMostPixels) image.size = 0;
  return image;
}

void CheckArray(int code, const VitrineEngineArray& array) {
  if (!Succeeded(code)) return;
  const size_t count = size_t{1} * array.rows * array.columns * array.width;
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += array.values[i];
  Require(count > 0 && sum == sum);
}

void CheckAnswer(VitrineEngineAnswers* answers, size_t image) {
  const bool answered = Succeeded(vitrine_engine_answer_status(answers, image));
  VitrineEnginePrediction prediction;
  for (size_t rank = 0; Succeeded(vitrine_engine_answer_prediction(answers, image, rank, &prediction)); ++rank) {
    Require(answered && prediction.index >= 0 && prediction.index < 10 && strlen(prediction.label) == 1);
  }
  VitrineEngineArray array = {};
  for (size_t entry = 0; entry < 3; ++entry) {
    CheckArray(vitrine_engine_answer_attention(answers, image, entry, &array), array);
    CheckArray(vitrine_engine_answer_feature(answers, image, entry, &array), array);
  }
  const char* json = nullptr;
  if (Succeeded(vitrine_engine_answer_json(answers, image, &json))) Require(answered && json[0] == '{');
  const void* data = nullptr;
  size_t size = 0;
  Require(Succeeded(vitrine_engine_answer_message(answers, image, &data, &size)) == answered);
  Require(!answered || size > 0);
}

}  // namespace
}  // namespace vitrine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vitrine::Succeeded;
  vitrine::Reader reader({reinterpret_cast<const char*>(data), size});
  const int count = reader.Byte();
  if (count == 255) {
    vitrine::Load(reader.Rest());
    return 0;
  }
  std::vector<VitrineEngineImage> images;
  for (int i = 0; i < count % 4; ++i) images.push_back(vitrine::ReadImage(reader));
  const std::string_view request = reader.Rest();
  VitrineEngineAnswers* answers = nullptr;
  if (!Succeeded(vitrine_engine_run(vitrine::Loaded(), images.data(), images.size(), request.data(), request.size(),
                                    &answers))) {
    vitrine::Require(answers == nullptr);
    return 0;
  }
  vitrine::Require(vitrine_engine_answer_count(answers) == images.size());
  for (size_t i = 0; i <= images.size(); ++i) vitrine::CheckAnswer(answers, i);
  vitrine_engine_answers_free(answers);
  return 0;
}
