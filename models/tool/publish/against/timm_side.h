// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_AGAINST_TIMM_SIDE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_AGAINST_TIMM_SIDE_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file/descriptor.h"
#include "models/float_array.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Runs timm in the user's Python, for one image at a time. Calls block; not thread-safe. timm's warnings go to stderr.
class TimmProcess {
 public:
  // Starts `python`, a path or a name in the PATH. Loads `weights`, a safetensors file with timm's names, into timm's
  // model `arch` with `classes` classes. timm prepares images by `preprocessing`, or, if it is null, by its default
  // preprocessing for `arch`. FAILED_PRECONDITION if the interpreter cannot run or lacks timm, or if timm rejects the
  // model or the weights; the message says which.
  static absl::StatusOr<std::unique_ptr<TimmProcess>> Start(const std::string& python, const std::string& arch,
                                                            int classes, std::string_view weights,
                                                            const v1::Preprocessing* preprocessing);
  // Ends the interpreter.
  ~TimmProcess();
  TimmProcess(const TimmProcess&) = delete;
  TimmProcess& operator=(const TimmProcess&) = delete;

  // Versions of timm, torch and Pillow, and the preprocessing, as text.
  const std::string& description() const { return description_; }

  struct Answer {
    FloatArray input;  // [C, H, W]
    std::vector<float> logits;
  };
  // Runs timm's own transform and model on an encoded image, after EXIF rotation. INVALID_ARGUMENT if Pillow cannot
  // read the image; FAILED_PRECONDITION if the interpreter has ended.
  absl::StatusOr<Answer> Ask(std::string_view image);

 private:
  TimmProcess(std::string python, FileDescriptor socket, pid_t child)
      : python_(std::move(python)), socket_(std::move(socket)), child_(child) {}

  // A line of JSON and the bytes that follow it.
  struct Message {
    std::string line;
    std::string bytes;
  };
  absl::StatusOr<Message> Exchange(const std::string& request, std::string_view bytes);
  absl::StatusOr<Message> Receive();
  // Returns the error that a reply reports, if any.
  absl::Status FaultOf(const std::string& line) const;

  const std::string python_;
  const FileDescriptor socket_;
  const pid_t child_;
  std::string description_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_AGAINST_TIMM_SIDE_H_
