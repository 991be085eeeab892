// SPDX-License-Identifier: Apache-2.0
// C++17 wrapper of vitrine_engine.h. Its objects free their memory, and its functions throw instead of returning codes.
#ifndef VITRINE_ENGINE_HPP_
#define VITRINE_ENGINE_HPP_

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "vitrine_engine.h"  // NOLINT(build/include_subdir): installed beside this file

namespace vitrine_engine {

// An error of the engine; what() returns the message of vitrine_engine_last_error.
class Error : public std::runtime_error {
 public:
  explicit Error(int code) : std::runtime_error(vitrine_engine_last_error()), code_(code) {}
  int code() const { return code_; }  // a VitrineEngineCode

 private:
  int code_;
};

inline void Check(int code) {
  if (code != VITRINE_ENGINE_OK) throw Error(code);
}

// Returns the image of a JPEG, PNG or WebP file in memory, which must outlive the image.
inline VitrineEngineImage File(std::string_view bytes) {
  return {bytes.data(), bytes.size(), 0, 0, 0, VITRINE_ENGINE_FILE};
}

// Answers of one call. Except size and ok, each function throws Error if the image failed. Only one thread at a time
// may use an object.
class Answers {
 public:
  explicit Answers(VitrineEngineAnswers* answers) : answers_(answers, vitrine_engine_answers_free) {}

  size_t size() const { return vitrine_engine_answer_count(answers_.get()); }
  bool ok(size_t image) const { return vitrine_engine_answer_status(answers_.get(), image) == VITRINE_ENGINE_OK; }
  VitrineEnginePrediction Prediction(size_t image, size_t rank = 0) const {
    VitrineEnginePrediction found;
    Check(vitrine_engine_answer_prediction(answers_.get(), image, rank, &found));
    return found;
  }
  VitrineEngineArray Attention(size_t image, size_t entry = 0) const {
    VitrineEngineArray found;
    Check(vitrine_engine_answer_attention(answers_.get(), image, entry, &found));
    return found;
  }
  VitrineEngineArray Feature(size_t image, size_t entry = 0) const {
    VitrineEngineArray found;
    Check(vitrine_engine_answer_feature(answers_.get(), image, entry, &found));
    return found;
  }
  std::string_view Json(size_t image) const {
    const char* json = nullptr;
    Check(vitrine_engine_answer_json(answers_.get(), image, &json));
    return json;
  }
  std::string_view Message(size_t image) const {
    const void* data = nullptr;
    size_t size = 0;
    Check(vitrine_engine_answer_message(answers_.get(), image, &data, &size));
    return {static_cast<const char*>(data), size};
  }

 private:
  std::unique_ptr<VitrineEngineAnswers, void (*)(VitrineEngineAnswers*)> answers_;
};

// A loaded version. Thread-safe.
class Model {
 public:
  // Loads a version by vitrine_engine_load, with NULL as `repository`. Throws Error.
  explicit Model(const std::string& model, const VitrineEngineOptions* options = nullptr)
      : model_(nullptr, vitrine_engine_free) {
    VitrineEngineModel* loaded = nullptr;
    Check(vitrine_engine_load(nullptr, model.c_str(), options, &loaded));
    model_.reset(loaded);
  }

  std::string_view Describe() const { return vitrine_engine_describe(model_.get()); }
  Answers Run(const std::vector<VitrineEngineImage>& images, std::string_view request = {}) const {
    VitrineEngineAnswers* answers = nullptr;
    Check(vitrine_engine_run(model_.get(), images.data(), images.size(), request.data(), request.size(), &answers));
    return Answers(answers);
  }

 private:
  std::unique_ptr<VitrineEngineModel, void (*)(VitrineEngineModel*)> model_;
};

}  // namespace vitrine_engine

#endif  // VITRINE_ENGINE_HPP_
